use super::*;
use crate::ir::{Mended, mend};

/// The body of a function after the edits.
fn edited(body: &str) -> Vec<String> {
    let module = format!("define void @f(i32 %0, i32 %1) {{\n{body}\n}}\n");
    let mended = mend(&module);
    assert_eq!(mended.leftovers, []);
    mended.text.lines().skip(2).take_while(|line| *line != "}").map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_frozen_value_is_its_operand_without_flags() {
    let new = edited(
        "  %3 = add nsw i32 %0, %1\n  %4 = freeze i32 %3\n  %5 = freeze i32 %4\n  %6 = mul i32 %5, %4",
    );
    assert_eq!(
        new,
        ["%oclave.3 = add  i32 %oclave.0, %oclave.1", "%oclave.6 = mul i32 %oclave.3, %oclave.3"]
    );
}

#[test]
fn the_smaller_of_truth_values_is_a_conjunction() {
    let new = edited(
        "  %3 = icmp eq i32 %0, 1\n  %4 = icmp eq i32 %1, 2\n  %5 = call i1 @llvm.umin.i1(i1 %3, i1 %4)\n  %6 = tail call i1 @llvm.smin.i1(i1 %3, i1 %5)\n  %7 = call <4 x i1> @llvm.smax.v4i1(<4 x i1> undef, <4 x i1> undef)\n  %8 = call i32 @llvm.umin.i32(i32 %0, i32 %1)",
    );
    assert_eq!(
        new,
        [
            "%oclave.3 = icmp eq i32 %oclave.0, 1",
            "%oclave.4 = icmp eq i32 %oclave.1, 2",
            "%oclave.5 = and i1 %oclave.3, %oclave.4",
            "%oclave.6 = or i1 %oclave.3, %oclave.5",
            "%oclave.7 = and <4 x i1> undef, undef",
            "%oclave.8 = call i32 @llvm.umin.i32(i32 %oclave.0, i32 %oclave.1)",
        ]
    );
}

#[test]
fn what_a_frozen_value_comes_from_is_defined() {
    let new = edited(
        "  br label %4\n\n4:                  ; preds = %4, %2\n  %5 = phi i32 [ undef, %2 ], [ %7, %4 ]\n  %6 = shl i32 %5, %0\n  %7 = add nuw i32 %5, 1\n  %8 = freeze i32 %6\n  %9 = call nnan i32 @g(i32 undef)\n  br label %4",
    );
    assert_eq!(
        new,
        [
            "br label %oclave.4",
            "",
            "oclave.4:",
            "%oclave.5 = phi i32 [ zeroinitializer, %oclave.2 ], [ %oclave.7, %oclave.4 ]",
            "%oclave.new1 = and i32 %oclave.0, 31",
            "%oclave.6 = shl i32 %oclave.5, %oclave.new1",
            "%oclave.7 = add  i32 %oclave.5, 1",
            "%oclave.9 = call nnan i32 @g(i32 undef)",
            "br label %oclave.4",
        ]
    );
}

#[test]
fn the_entry_block_keeps_its_number() {
    let module = "define void @f(i32 %0, i32 %1) {\n  %3 = freeze i32 undef\n  store i32 %3, i32* null\n}\n";
    let text = mend(module).text;
    assert_eq!(
        text,
        "define void @f(i32 %oclave.0, i32 %oclave.1) {\noclave.2:\n  store i32 zeroinitializer, i32* null\n}\n"
    );
}

#[test]
fn odd_widths_become_the_next_one() {
    let new = edited(
        "  %3 = trunc i32 %0 to i31\n  %4 = add nsw i31 %3, -1\n  %5 = icmp slt i31 %4, 5\n  switch i31 %4, label %6 [\n    i31 -2, label %7\n  ]",
    );
    assert_eq!(
        new,
        [
            "%oclave.new1 = or i32 %oclave.0, 0",
            "%oclave.3 = and i32 %oclave.new1, 2147483647",
            "%oclave.new2 = add i32 %oclave.3, 2147483647",
            "%oclave.4 = and i32 %oclave.new2, 2147483647",
            "%oclave.new3 = shl i32 %oclave.4, 1",
            "%oclave.new4 = ashr i32 %oclave.new3, 1",
            "%oclave.new5 = shl i32 5, 1",
            "%oclave.new6 = ashr i32 %oclave.new5, 1",
            "%oclave.5 = icmp slt i32 %oclave.new4, %oclave.new6",
            "switch i32 %oclave.4, label %oclave.6 [",
            "i32 2147483646, label %oclave.7",
            "]",
        ]
    );
}

#[test]
fn too_wide_integers_are_told_and_stay() {
    let module = "define void @\"f g\"(i64 %0) {\n  %2 = uitofp i128 7 to float\n  ret void\n}\n";
    let mended = mend(module);
    assert_eq!(
        mended.leftovers,
        [Leftover {
            function: "f g".to_owned(),
            instruction: "%oclave.2 = uitofp i128 7 to float".to_owned(),
            cause:
                "`uitofp` of an integer of 128 bits; literals with the suffix `ULL` or `LL` have 128 bits in \
                    OpenCL C, so write `UL` or `L`"
                    .to_owned()
        }]
    );
}

#[test]
fn modules_without_any_of_it_stay_as_they_are() {
    let module = "define void @f(i64 %0) {\n  %2 = add nsw i64 %0, undef\n  ret void\n}\n";
    assert_eq!(mend(module), Mended { text: module.to_owned(), leftovers: Vec::new() });
}

#[test]
fn intrinsics_that_the_translator_lacks_become_instructions() {
    let new = edited("  %3 = tail call i32 @llvm.uadd.sat.i32(i32 %0, i32 7) #2");
    assert_eq!(
        new,
        [
            "%oclave.new1 = add i32 %oclave.0, 7",
            "%oclave.new2 = icmp ult i32 %oclave.new1, %oclave.0",
            "%oclave.3 = select i1 %oclave.new2, i32 -1, i32 %oclave.new1",
        ]
    );
    let new = edited("  %3 = call i8 @llvm.bitreverse.i8(i8 %0)");
    assert_eq!(new.len(), 15, "{new:#?}");
    assert_eq!(new[14], "%oclave.3 = or i8 %oclave.new12, %oclave.new14");
}

#[test]
fn products_and_funnel_shifts_are_plain_instructions() {
    let new = edited(
        "  %3 = call { i32, i1 } @llvm.umul.with.overflow.i32(i32 %0, i32 %1)\n  %4 = tail call i32 @llvm.fshl.i32(i32 %0, i32 %0, i32 7)\n  %5 = call i32 @llvm.fshr.i32(i32 %0, i32 %1, i32 33)\n  %6 = call i32 @llvm.fshl.i32(i32 %0, i32 %1, i32 %4)",
    );
    assert_eq!(
        new,
        [
            "%oclave.new1 = zext i32 %oclave.0 to i64",
            "%oclave.new2 = zext i32 %oclave.1 to i64",
            "%oclave.new3 = mul i64 %oclave.new1, %oclave.new2",
            "%oclave.new4 = lshr i64 %oclave.new3, 32",
            "%oclave.new5 = trunc i64 %oclave.new4 to i32",
            "%oclave.new6 = trunc i64 %oclave.new3 to i32",
            "%oclave.new7 = icmp ne i32 %oclave.new5, zeroinitializer",
            "%oclave.new8 = insertvalue { i32, i1 } undef, i32 %oclave.new6, 0",
            "%oclave.3 = insertvalue { i32, i1 } %oclave.new8, i1 %oclave.new7, 1",
            "%oclave.new9 = shl i32 %oclave.0, 7",
            "%oclave.new10 = lshr i32 %oclave.0, 25",
            "%oclave.4 = or i32 %oclave.new9, %oclave.new10",
            "%oclave.new11 = shl i32 %oclave.0, 31",
            "%oclave.new12 = lshr i32 %oclave.1, 1",
            "%oclave.5 = or i32 %oclave.new11, %oclave.new12",
            "%oclave.new13 = and i32 %oclave.4, 31",
            "%oclave.new14 = xor i32 %oclave.new13, 31",
            "%oclave.new15 = lshr i32 %oclave.1, 1",
            "%oclave.new16 = shl i32 %oclave.0, %oclave.new13",
            "%oclave.new17 = lshr i32 %oclave.new15, %oclave.new14",
            "%oclave.6 = or i32 %oclave.new16, %oclave.new17",
        ]
    );
}

#[test]
fn bytes_change_places_and_numbers_are_compared() {
    let new =
        edited("  %3 = call i16 @llvm.bswap.i16(i16 5)\n  %4 = call i8 @llvm.scmp.i8.i32(i32 %0, i32 %1)");
    assert_eq!(
        new,
        [
            "%oclave.new1 = lshr i16 5, 8",
            "%oclave.new2 = and i16 %oclave.new1, 255",
            "%oclave.new3 = and i16 5, 255",
            "%oclave.new4 = shl i16 %oclave.new3, 8",
            "%oclave.3 = or i16 %oclave.new2, %oclave.new4",
            "%oclave.new5 = icmp slt i32 %oclave.0, %oclave.1",
            "%oclave.new6 = icmp sgt i32 %oclave.0, %oclave.1",
            "%oclave.new7 = zext i1 %oclave.new6 to i8",
            "%oclave.4 = select i1 %oclave.new5, i8 -1, i8 %oclave.new7",
        ]
    );
}
