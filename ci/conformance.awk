# Joins the list of scenarios with test results: first file tests/conformance/scenarios.txt, second file lines of
# "device, status, suite, test, message" separated by tabs. Prints one line per scenario and device:
#   ID DEVICE pass|fail|skip [reason]
# -v devices="intel pocl6" says which devices to list; -v feature=F (a feature's name or the beginning of an id) which scenarios.

FNR == 1 { file++ }

file == 1 {
    if (/^#/ || NF < 4) next
    listed[$1] = 1
    if (feature != "" && $2 != feature && index($1, toupper(feature)) != 1) next
    order[++count] = $1
    feature_of[$1] = $2
    text = $0
    sub(/^[^ ]+ +[^ ]+ +[^ ]+ +/, "", text)
    if ($3 == "no") not_applicable[$1] = text
    next
}

{
    split($0, field, "\t")
    device = field[1]; status = field[2]; test = field[4]; message = field[5]
    id = scenario_of(test)
    if (id == "" || !(id in listed)) {
        # Helpers' own tests pass quietly; what fails outside of any scenario must not be lost.
        if (status == "fail") printf "%s %s fail %s\n", test == "(whole suite)" ? "SUITE" : test, device, message
        if (status == "fail") failed++
        else if (id != "") { printf "%s %s fail no such scenario in the list (test %s)\n", id, device, test; failed++ }
        next
    }
    key = id SUBSEP device
    # The worst result of a scenario's tests counts: one failed test fails it, one that ran makes it more than skipped.
    if (status == "fail" || !(key in result) || (status == "pass" && result[key] == "skip")) {
        if (result[key] != "fail") { result[key] = status; why[key] = status == "pass" ? "" : message }
    }
}

END {
    devices_count = split(devices, device_list, " ")
    for (i = 1; i <= count; i++) {
        id = order[i]
        for (d = 1; d <= devices_count; d++) {
            device = device_list[d]
            key = id SUBSEP device
            if (key in result) report(id, device, result[key], why[key])
            else if (id in not_applicable) report(id, device, "skip", "does not apply: " not_applicable[id])
            else if (device in missing_device) report(id, device, "skip", missing_device[device])
            else report(id, device, "fail", "has no test (feature " feature_of[id] ")")
        }
    }
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0
}

BEGIN {
    # -v missing="pocl7=the reason|…": devices that could not be set up.
    n = split(missing, part, "|")
    for (i = 1; i <= n; i++) {
        at = index(part[i], "=")
        if (at) missing_device[substr(part[i], 1, at - 1)] = substr(part[i], at + 1)
    }
}

function report(id, device, status, reason) {
    if (status == "pass") passed++
    else if (status == "fail") failed++
    else skipped++
    print id " " device " " status (reason == "" ? "" : " " reason)
}

# dg_cpy_001_whole_value → DG-CPY-001, img_004_fills → IMG-004; anything else → "".
function scenario_of(test,    name) {
    name = test
    sub(/^.*::/, "", name)
    if (match(name, /^[a-z]+(_[a-z]+)?_[0-9][0-9][0-9]_/)) {
        name = toupper(substr(name, 1, RLENGTH - 1))
        gsub(/_/, "-", name)
        return name
    }
    return ""
}
