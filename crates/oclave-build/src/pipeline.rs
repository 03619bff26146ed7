//! The passes of LLVM that optimise kernels: those of `-O2` without `reassociate`, `loop-idiom` and the vectorisers.
//!
//! `reassociate` drops `nsw` from the sums that it orders. Without that flag, drivers' vectorisers do not find that work-items
//! access neighbouring elements. A matrix product took 4.2 times as long. `docs/forms.md` has the
//! measurements, and those of other pipelines.
//!
//! `loop-idiom` makes `memmove` of a loop that moves the elements of an array by one. Then the array is never taken apart, and it stays in memory.
//! SHA-512 took twice as long with one driver, and 18 times as long with another one.
//!
//! `gvn` leaves partly redundant values where they are (`no-pre`). Otherwise it moves their calculation before a barrier. A transpose through local
//! memory took up to 1.8 times as long as from source.
//!
//! In sources that call barriers or other functions of groups, the last `simplifycfg` keeps loops, as the others do. Otherwise edges skip the header of a loop, if the
//! header repeats a test. With barriers in a loop of two entries, one driver computed wrong results, and another
//! one crashed. In other sources it joins some nested loops. XXH64 hung on one driver without that.
//!
//! Vectorisers write reductions and vectors of odd widths, which the translator refuses. Drivers vectorise over work-items.

/// The passes. `SIMPLIFY` stands for SimplifyCFG where loops keep their form, and `LAST-LOOPS` for whether they do at the end.
const PASSES: &str = "\
    forceattrs,inferattrs,function(lower-expect,SIMPLIFY,sroa,early-cse),\
    ipsccp,called-value-propagation,globalopt,function(mem2reg),deadargelim,function(INSTCOMBINE,SIMPLIFY),\
    require<globals-aa>,function(invalidate<aa>),require<profile-summary>,\
    cgscc(devirt<4>(inline<only-mandatory>,inline,function-attrs,function(\
        sroa,early-cse<memssa>,speculative-execution,jump-threading,correlated-propagation,\
        SIMPLIFY,INSTCOMBINE,libcalls-shrinkwrap,tailcallelim,SIMPLIFY,\
        loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,loop-rotate,licm<allowspeculation>,\
            simple-loop-unswitch<no-nontrivial;trivial>),\
        SIMPLIFY,INSTCOMBINE,loop(indvars,loop-deletion,loop-unroll-full),\
        sroa,mldst-motion<no-split-footer-bb>,gvn<no-pre>,sccp,bdce,INSTCOMBINE,jump-threading,correlated-propagation,\
        adce,memcpyopt,dse,loop-mssa(licm<allowspeculation>),\
        simplifycfg<switch-range-to-icmp;keep-loops;hoist-common-insts;sink-common-insts>,INSTCOMBINE))),\
    globalopt,globaldce,elim-avail-extern,rpo-function-attrs,recompute-globalsaa,\
    function(float2int,lower-constant-intrinsics,loop(loop-rotate,loop-deletion),loop-load-elim,INSTCOMBINE,\
        simplifycfg<forward-switch-cond;switch-range-to-icmp;switch-to-lookup;LAST-LOOPS;hoist-common-insts;sink-common-insts>,\
        INSTCOMBINE,loop-unroll<O2>,INSTCOMBINE,loop-mssa(licm<allowspeculation>),alignment-from-assumptions,\
        loop-sink,instsimplify,div-rem-pairs,tailcallelim,SIMPLIFY),\
    globaldce,constmerge";

/// The passes as `opt -passes=` of an LLVM takes them. It matters whether the source calls barriers or other functions of groups.
pub(crate) fn passes(llvm: u32, calls_group_functions: bool) -> String {
    // `opt` of these versions otherwise ends with an error where a second run would change more.
    let instcombine = if llvm >= 18 { "instcombine<no-verify-fixpoint>" } else { "instcombine" };
    PASSES
        .replace("SIMPLIFY", "simplifycfg<switch-range-to-icmp;keep-loops>")
        .replace("INSTCOMBINE", instcombine)
        .replace("LAST-LOOPS", if calls_group_functions { "keep-loops" } else { "no-keep-loops" })
}
