# Reads what Rust's test harness printed under --show-output (one binary, or all of one `cargo test`), and writes one
# line per test: status (pass, fail, skip), suite, test, message; separated by tabs.
#
# A test that prints a line "skipped: reason" counts as skipped. A suite that ended without its closing line
# (crash, kill) gives a failed test "(whole suite)". -v suite=NAME names the suite where no line of cargo's does.

BEGIN { OFS = "\t"; open = (suite != "") }

/^ +(Running|Doc-tests) / {
    close_suite()
    suite = $1 == "Doc-tests" ? "doc " $2 : $2 == "unittests" ? "unit " $NF : $2
    sub(/^unit \(.*\//, "unit ", suite)
    sub(/-[0-9a-f]+\)$/, "", suite)
    open = 1
    next
}

/^running [0-9]+ tests?$/ { open = 1; next }

# Not anchored: a driver or a kernel may have printed something without a line end just before.
match($0, /test [^ ]+( - .*)? \.\.\. (ok|FAILED|ignored.*)$/) {
    line = substr($0, RSTART + 5)
    at = index(line, " ... ")
    name = substr(line, 1, at - 1)
    sub(/ - should panic$/, "", name)
    verdict = substr(line, at + 5)
    if (!(name in status)) order[++count] = name
    status[name] = verdict == "ok" ? "pass" : verdict == "FAILED" ? "fail" : "skip"
    if (verdict ~ /^ignored/) message[name] = verdict == "ignored" ? "ignored" : substr(verdict, 10)
    next
}

/^---- .* stdout ----$/ { section = substr($0, 6, length($0) - 17); panicked = 0; next }
/^(successes|failures):$/ { section = ""; next }

section != "" && /^skipped: / { message[section] = substr($0, 10); reason[section] = 1 }
section != "" && panicked && !(section in message) { message[section] = $0 }
# The values of a failed assert_eq! stand on lines of their own.
section != "" && /^ +(left|right): / && section in message { sub(/^ +/, ""); message[section] = message[section] ", " $0 }
{ panicked = section != "" && /^thread .* panicked at / }
section != "" && /^Error: / && !(section in message) { message[section] = substr($0, 8) }

/^test result: / { flush_tests(); open = 0 }

END { close_suite() }

function flush_tests(    i, name) {
    for (i = 1; i <= count; i++) {
        name = order[i]
        if (status[name] == "pass" && name in reason) status[name] = "skip"
        gsub(/\t/, " ", message[name])
        print status[name], suite, name, message[name]
    }
    delete status; delete message; delete reason; delete order
    count = 0
    section = ""
}

function close_suite() {
    if (!open) return
    flush_tests()
    print "fail", suite, "(whole suite)", "ended without a result"
    open = 0
}
