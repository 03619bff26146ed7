# Reads what a Rust test program printed under --show-output, and writes one line per test: device, status (pass, fail,
# skip), suite, test, message; separated by tabs. As ci/libtest.jq does from JSON, where there is no jq.
#
# A test that prints a line "skipped: reason" counts as skipped. -v suite=NAME names the program.

/^test .* \.\.\. (ok|FAILED|ignored)/ {
    line = $0
    sub(/^test /, "", line)
    at = index(line, " ... ")
    name = substr(line, 1, at - 1)
    sub(/ - should panic$/, "", name)
    outcome = substr(line, at + 5)
    order[++count] = name
    status[name] = outcome ~ /^ok/ ? "pass" : outcome ~ /^ignored/ ? "skip" : "fail"
    if (outcome ~ /^ignored, /) message[name] = substr(outcome, 10)
    next
}
/^---- .* stdout ----$/ {
    current = $0
    sub(/^---- /, "", current)
    sub(/ stdout ----$/, "", current)
    after_panic = 0
    next
}
/^test result: / { ended = 1 }
current != "" && /^skipped: / { skipped[current] = substr($0, 10); next }
current != "" && after_panic == 0 && /^thread .* panicked at / { after_panic = 1; next }
current != "" && after_panic == 1 { message[current] = $0; after_panic = 2; next }
current != "" && after_panic == 2 && /^ +(left|right): / { text = $0; sub(/^ +/, "", text); message[current] = message[current] ", " text; next }
current != "" && message[current] == "" && /^Error: / { message[current] = substr($0, 8) }

END {
    for (i = 1; i <= count; i++) {
        name = order[i]
        if (status[name] == "pass" && name in skipped) { status[name] = "skip"; message[name] = skipped[name] }
        text = message[name]
        gsub(/\t/, " ", text)
        print "nvidia\t" status[name] "\t" suite "\t" name "\t" text
    }
    if (!ended) print "nvidia\tfail\t" suite "\t(whole suite)\tended without a result"
}
