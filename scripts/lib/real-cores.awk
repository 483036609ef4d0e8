# Reads the starts that real-cores.sh made, one a line, and prints a table: medians over the rounds of both rates, and of their
# ratio in each round. A start that was disturbed in every try has no rate, and its round does not count.
function field(name,    text) {
    if (!match($0, "\"" name "\": \"?[^\",}]*")) return ""
    text = substr($0, RSTART, RLENGTH)
    sub(/^"[^"]*": "?/, "", text)
    return text
}

# The last "mops" of a line is that of all threads; the first, that of thread A.
function rate(which,    text, value) {
    text = $0
    while (match(text, /"mops": [0-9.]+/)) {
        value = substr(text, RSTART + 8, RLENGTH - 8)
        if (which == "first") return value + 0
        text = substr(text, RSTART + RLENGTH)
    }
    return value == "" ? value : value + 0
}

function median(list,    values, count, i, j, swap) {
    count = split(list, values, " ")
    for (i = 2; i <= count; i++)
        for (j = i; j > 1 && values[j - 1] + 0 > values[j] + 0; j--) {
            swap = values[j]; values[j] = values[j - 1]; values[j - 1] = swap
        }
    if (!count) return "-"
    return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
}

function spread(list,    values, count, i, low, high) {
    count = split(list, values, " ")
    if (count < 2) return "-"
    low = high = values[1] + 0
    for (i = 2; i <= count; i++) {
        if (values[i] + 0 < low) low = values[i] + 0
        if (values[i] + 0 > high) high = values[i] + 0
    }
    return sprintf("%.2f to %.2f", low, high)
}

{
    point = field("program")
    if (field("options") != "") point = point " " field("options")
    layout = field("layout")
    threads = field("threads")
    all = rate("last"); first = rate("first")
    if (layout == "bad") { before_all = all; before_first = first; next }
    key = point "|" layout "|" threads
    if (!(key in rounds)) order[++points] = key
    rounds[key]++
    if (before_all == "" || all == "") { disturbed[key]++; next }
    before[key] = before[key] " " before_all
    after[key] = after[key] " " all
    ratio[key] = ratio[key] " " all / before_all
    if (threads > 1 && all > first) {
        ratio_a[key] = ratio_a[key] " " first / before_first
        if (before_all > before_first) ratio_rest[key] = ratio_rest[key] " " (all - first) / (before_all - before_first)
    }
}

function number(value, digits) { return value == "-" ? value : sprintf("%." digits "f", value) }

END {
    print "| program | layout | threads | bad, M/s | this, M/s | ratio | over the rounds | thread A | others | disturbed |"
    print "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |"
    for (i = 1; i <= points; i++) {
        split(order[i], of, "|"); key = order[i]
        printf "| %s | %s | %d | %s | %s | %s | %s | %s | %s | %d of %d |\n", of[1], of[2], of[3],
            number(median(before[key]), 2), number(median(after[key]), 2), number(median(ratio[key]), 2), spread(ratio[key]),
            number(median(ratio_a[key]), 2), number(median(ratio_rest[key]), 2), disturbed[key], rounds[key]
    }
}
