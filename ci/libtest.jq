# Reads what a Rust test program printed under `--format json --show-output`, as raw text (jq -Rrn), and writes one line
# per test: status (pass, fail, skip), suite, test, message; separated by tabs.
#
# A test that prints a line "skipped: reason" counts as skipped. A program that ended without its closing event (crash,
# kill) gives a failed test "(whole suite)". --arg suite NAME names the program.

# Not anchored at the start: a driver or a kernel may have printed something without a line end just before.
def events: [inputs | capture("(?<event>\\{ ?\"type\": ?\"(suite|test)\".*\\})$").event | fromjson?];

def skip_reason($lines): [$lines[] | select(startswith("skipped: "))[9:]] | last;

# The message of the panic, with the values of a failed assert_eq!, which stand on lines of their own; or the error.
def failure($lines):
    ([range($lines | length) | select($lines[.] | test("^thread .* panicked at "))] | first) as $at
    | if $at then
        [$lines[$at + 1], ($lines[$at + 2:][] | select(test("^ +(left|right): ")) | sub("^ +"; ""))] | join(", ")
      else
        [$lines[] | select(startswith("Error: "))[7:]] | first
      end;

def result:
    ((.stdout // "") | split("\n")) as $lines
    | if .event == "ok" then
        skip_reason($lines) as $reason | if $reason then ["skip", $reason] else ["pass", ""] end
      elif .event == "ignored" then ["skip", .message // "ignored"]
      else ["fail", failure($lines) // .message // "no message"]
      end;

events as $events
| ($events[] | select(.type == "test" and (.event | IN("ok", "failed", "ignored"))) | result as [$status, $message]
    | [$status, $suite, (.name | sub(" - should panic$"; "")), ($message | gsub("[\t\n]"; " "))]),
  (if any($events[]; .type == "suite" and .event != "started") then empty
   else ["fail", $suite, "(whole suite)", "ended without a result"] end)
| join("\t")
