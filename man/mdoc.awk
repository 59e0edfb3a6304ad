# SPDX-License-Identifier: MIT
# mdoc.awk - the text of a comment as mdoc: paragraphs, lists, code. A part of from-headers.awk, which sets out, the page that
# is being written; self, its name; and is_page, by name, the pages there are.
#
# In a comment, indented by two or three: a list, each entry a tag, two or more spaces, and text that stays in its column; or
# a tag alone, and text below it, indented further. Indented by four or more: code. A paragraph that begins with "Returns"
# begins the section of that name; "Threads:" begins the last one.

function put(line) { print line > out }

function escaped(text) {
    gsub(/\\/, "\\e", text)
    gsub(/\001/, "...", text)
    return text
}

# As a macro's argument.
function quoted(text) {
    text = escaped(text)
    gsub(/"/, "\\(dq", text)
    return "\"" text "\""
}

function flush_words() {
    if (words != "")
        put((words ~ /^[.']/ ? "\\&" : "") words)
    words = ""
}

function put_text(text,    n, i, token) {
    n = split(text, token, /[ \n]+/)
    for (i = 1; i <= n; i++)
        if (token[i] != "")
            put_word(token[i])
    flush_words()
}

function put_word(word,    before, after, core, punctuation, i, macro) {
    core = word
    before = after = punctuation = ""
    if (core ~ /^\(/ && (core !~ /\)/ || core ~ /\(\)/)) {
        before = "("
        core = substr(core, 2)
    }
    if (match(core, /[.,;:?!)]+$/)) {
        after = substr(core, RSTART)
        core = substr(core, 1, RSTART - 1)
        if (core ~ /\($/) { # name()
            core = core ")"
            after = substr(after, 2)
        }
    }
    macro = macro_for(core)
    if (macro == "") {
        if (length(words) + length(word) > 78)
            flush_words()
        words = words (words == "" ? "" : " ") escaped(word)
        if (word ~ /[.?!][")]*$/)
            flush_words()
        return
    }
    flush_words()
    for (i = 1; i <= length(after); i++)
        punctuation = punctuation " " substr(after, i, 1)
    put("." (before == "" ? "" : "Pf ( ") macro punctuation)
}

function macro_for(word,    name) {
    if (word ~ /^SFID_[A-Z0-9_]*[A-Z0-9]$/)
        return "Dv " word
    name = word
    if (sub(/\(\)$/, "", name) && name ~ /^[A-Za-z_0-9]+$/ && is_page[name])
        return name == self ? "Fn " name : "Xr " name " 3"
    return ""
}

function indent(line) {
    match(line, /^ */)
    return line ~ /^ *$/ ? 999 : RLENGTH
}

# Lines a to b of L, of which those that begin in column base are text.
function put_lines(a, b, base,    i, j, parted, text) {
    for (i = a; i <= b;) {
        if (indent(L[i]) == 999) {
            parted = i++ > a
        } else if (indent(L[i]) < base + 2) {
            text = ""
            for (; i <= b && indent(L[i]) < base + 2; i++)
                text = text L[i] "\n"
            if (parted)
                put(".Pp")
            parted = 0
            put_text(text)
        } else {
            for (j = i; j < b && indent(L[j + 1]) >= base + 2; j++)
                ;
            for (parted = 0; indent(L[j]) == 999; j--)
                parted = 1
            if (base == 0 && indent(L[i]) >= 4 || !is_list(i, j))
                put_code(i, j)
            else
                put_list(i, j)
            parted = i = j + 1
        }
    }
}

# The column of an entry's text, or 0 where its tag stands alone; column is that of the entries beside it.
function text_column(line, column) {
    if (match(line, /[^ ]  +[^ ]/))
        return RSTART + RLENGTH - 2
    return column && substr(line, column, 1) == " " && substr(line, column + 1, 1) != " " ? column : 0
}

function column_of(a, b,    i, margin) {
    margin = indent(L[a])
    for (i = a; i <= b; i++)
        if (indent(L[i]) == margin && text_column(L[i], 0))
            return text_column(L[i], 0)
    return 0
}

function is_list(a, b,    i) {
    if (column_of(a, b))
        return 1
    for (i = a; i <= b; i++)
        if (indent(L[i]) > indent(L[a]) && indent(L[i]) != 999)
            return 1
    return 0
}

function put_list(a, b,    margin, column, i, e, c, tag, low) {
    margin = indent(L[a])
    column = column_of(a, b)
    put(".Bl -tag -width Ds")
    for (i = a; i <= b; i = e + 1) {
        for (e = i; e < b && indent(L[e + 1]) > margin; e++)
            ;
        c = text_column(L[i], column)
        tag = c ? substr(L[i], 1, c) : L[i]
        gsub(/^ +| +$/, "", tag)
        put(".It " (tag ~ /^SFID_[A-Z_]+$/ ? "Dv " tag : quoted(tag)))
        if (c) {
            L[i] = sprintf("%" c "s", "") substr(L[i], c + 1)
            put_lines(i, e, c)
        } else if (e > i) {
            low = 999
            for (c = i + 1; c <= e; c++)
                low = indent(L[c]) < low ? indent(L[c]) : low
            put_lines(i + 1, e, low)
        }
    }
    put(".El")
}

function put_code(a, b,    margin, i, line) {
    margin = indent(L[a])
    put(".Bd -literal -offset indent")
    for (i = a; i <= b; i++) {
        line = escaped(substr(L[i], margin + 1))
        gsub(/-/, "\\-", line)
        put((line ~ /^[.']/ ? "\\&" : "") line)
    }
    put(".Ed")
}

function put_doc(text,    n) {
    sub(/^[ \n]*\n/, "", text)
    n = split(text, L, "\n")
    while (n > 0 && L[n] ~ /^ *$/)
        n--
    put_lines(1, n, 0)
}
