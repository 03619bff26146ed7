# shellcheck shell=bash
# Shared by ci/sources and ci/real: fetches packages with OpenCL C from elsewhere. Sourced after lib.sh, never run.

# shellcheck disable=SC2034 # read by the scripts that source this file
# Its number rises when they are unpacked in another way.
HOME_OF_SOURCES=$OCLAVE_HOME/sources-2

# fetch PROJECT KIND PACKAGE: unpacks it to a folder of its name. The kinds are Debian's packages (deb) and PyPI's (pip). With
# -strings behind it, the OpenCL C is in the literals of its libraries.
fetch() {
    local folder=$HOME_OF_SOURCES/$1 log=$OCLAVE_HOME/logs/sources.log file
    [ ! -f "$folder/.done" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder/got"
    say "fetching $3"
    case $2 in
    deb*)
        (cd "$folder/got" && quietly "$log" apt-get download "$3") || die "no package $3"
        dpkg -x "$folder"/got/*.deb "$folder/files"
        ;;
    pip*)
        quietly "$log" python3 -m pip download --no-deps -d "$folder/got" "$3" || die "no package $3"
        mkdir "$folder/files"
        for file in "$folder"/got/*; do
            case $file in
            *.whl) python3 -m zipfile -e "$file" "$folder/files" ;;
            *) tar -xf "$file" -C "$folder/files" ;;
            esac
        done
        ;;
    esac
    [[ $2 != *-strings ]] || literals "$folder/files"
    rm -r "$folder/got"
    touch "$folder/.done"
}

# literals FOLDER: writes the string literals in its binaries that look like OpenCL C to FOLDER/literals. A file is named by the first
# function behind the first "kernel" of its literal, as other builds of a library have other literals before it.
literals() {
    local file
    mkdir "$1/literals"
    while IFS= read -r -d '' file; do
        strings -w -e S -n 60 -s $'\x01' "$file" | LC_ALL=C awk -v RS='\x01' -v out="$1/literals/$(basename "$file")" '
            /#define|kernel|inline|INLINE/ && /[;#]/ && /\n|;.*;/ {
                name = "part"
                start = match($0, /kernel/)
                if (start && match(substr($0, start), /void[ \t\n]+[A-Za-z_0-9]+/)) {
                    name = substr($0, start + RSTART - 1, RLENGTH)
                    sub(/^void[ \t\n]+/, "", name)
                }
                seen[name]++
                file = sprintf("%s.%s%s.cl", out, name, seen[name] > 1 ? "." seen[name] : "")
                print > file
                close(file)
            }'
    done < <(find "$1" -path "$1/literals" -prune -o -type f -size +8k -print0)
}
