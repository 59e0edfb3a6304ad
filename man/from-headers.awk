# SPDX-License-Identifier: MIT
# from-headers.awk - section 3 of the manual, made from the comments of the public headers.
#
#   awk -v dir=man3 -v date='November 22, 2026' -f mdoc.awk -f from-headers.awk include/sfid.h include/sfid/*.h
#   awk -v list=1 -f mdoc.awk -f from-headers.awk HEADER...        prints the names of those pages, and writes none
#
# A page comes from each header (its first comment, and a list of what it declares) and from each comment in front of calls,
# of a type or of a macro with arguments. Where one comment is about several calls, the others get a link to the first. A
# macro without a comment gets a link to the page that names it. A call or type without a comment is an error.
#
# mdoc.awk says what the text of a comment may look like.

function fail(at, what) {
    printf "%s: %s\n", at, what | "cat >&2"
    failed = 1
}

# ---- reading ----

FNR == 1 {
    at_head = 1
    heading = -1
    state = note = doc = open_item = ""
    header = FILENAME
    sub(/.*include\//, "", header)
    headers[++header_count] = header
}
{
    gsub(/…/, "\001") # one column, whatever the locale
    where = FILENAME ":" FNR
}
state == "doc" { read_doc($0); next }
state == "plain" { if (/\*\//) state = ""; next }
state == "declaration" { read_declaration($0); next }
state == "body" { if (/^[}]/) state = ""; next }
/^\/\*\*[^<]/ || /^\/\*\*$/ {
    doc = open_item = ""
    state = "doc"
    sub(/^\/\*\* ?/, "")
    read_doc($0)
    next
}
/^\/\* ----/ { note = ""; heading = FNR; next }
/^\/\*/ {
    if (FNR == heading + 1 && /\*\/$/)
        note = substr($0, 4, length($0) - 5)
    if (!/\*\//)
        state = "plain"
    next
}
/^$/ { doc = open_item = ""; next }
/^static inline/ { if (!/[}]$/) state = "body"; next }
/^#define/ || /^SFID_API / || /^typedef / || /^static const / || /^SFID__CONST / || /^(enum|struct|union) [a-z_0-9]+ [{]/ {
    state = "declaration"
    declared = ""
    begun = where
    read_declaration($0)
}

function read_doc(line) {
    if (sub(/ *\*\/.*/, "", line))
        state = ""
    sub(/^ \* ?/, "", line)
    doc = doc line "\n"
    if (state == "" && at_head) {
        head[header] = doc
        head_at[header] = where
        doc = ""
        at_head = 0
    }
}

function read_declaration(line) {
    declared = declared line "\n"
    if (declared ~ /^#define/ ? line !~ /\\$/ : declared ~ /[{]/ ? line ~ /^[}].*;/ : line ~ /; *(\/\*.*)?$/) {
        state = ""
        if (declared ~ /^#define/)
            take_macro(declared)
        else
            take(declared, name_of(declared), declared ~ /^SFID_API/ ? "call" : declared ~ /^(static|SFID__CONST)/ ? "constant" : "type")
    }
}

function name_of(text) {
    if (text ~ /^SFID_API/) {
        while (sub(/^SFID_[A-Z_]+(\([^)]*\))? */, "", text))
            ;
        sub(/\(.*/, "", text)
    } else if (text ~ /^(enum|struct|union)/) {
        sub(/ *[{].*/, "", text)
    } else if (text ~ /^(static|SFID__CONST)/) {
        match(text, /SFID_[A-Z0-9][A-Z0-9_]+/)
        return substr(text, RSTART, RLENGTH)
    } else if (text !~ /[{]/ && match(text, /\(\*[a-z_0-9]+\)/)) {
        return substr(text, RSTART + 2, RLENGTH - 3)
    } else {
        gsub(/\n/, " ", text)
        sub(/.*[}]/, "", text)
        sub(/;.*/, "", text)
    }
    gsub(/^[ \n]+|[ \n]+$/, "", text)
    sub(/.*[ *\n]/, "", text)
    return text
}

function take_macro(text,    name, arguments) {
    match(text, /^#define +[A-Za-z0-9_]+/)
    name = substr(text, RSTART + 8, RLENGTH - 8)
    gsub(/ /, "", name)
    arguments = substr(text, RLENGTH + 1, 1) == "("
    macros[name] = text
    if (doc != "")
        take(text, name, arguments ? "macro" : "constant")
    else if (name !~ /__/ && open_item == "") {
        bare[++bare_count] = name
        bare_header[bare_count] = header
    }
}

function take(text, name, kind) {
    if (name ~ /__/ || (kind == "type" && text ~ /^struct/ && text !~ /[{]/))
        return
    if (open_item == "") {
        if (doc == "") {
            fail(begun, name " has no comment")
            return
        }
        open_item = ++item_count
        item_doc[open_item] = doc
        item_kind[open_item] = kind
        item_header[open_item] = header
        item_note[open_item] = note
        item_name[open_item] = name
    }
    item_names[open_item] = item_names[open_item] " " name
    item_text[open_item, name] = text
    item_of[name] = open_item
    doc = "" # open_item goes on until a blank line
}

# ---- what there is ----

END {
    if (failed)
        exit 1
    for (h = 1; h <= header_count; h++) {
        if (head[headers[h]] == "") {
            fail(headers[h] ":1", "the header has no comment of its own")
            exit 1
        }
        page_of_header[headers[h]] = headers[h]
        gsub(/\//, "_", page_of_header[headers[h]])
        add_page(page_of_header[headers[h]], 0)
    }
    for (i = 1; i <= item_count; i++) {
        if (item_kind[i] == "constant")
            continue
        n = split(item_names[i], names, " ")
        for (k = 1; k <= n; k++)
            add_page(names[k], k > 1 ? item_name[i] : 0)
    }
    for (b = 1; b <= bare_count; b++)
        link_macro(bare[b], bare_header[b])
    for (p = 1; p <= page_count; p++) {
        if (list)
            print pages[p]
        else if (link[pages[p]])
            printf ".so man3/%s.3\n", link[pages[p]] > (dir "/" pages[p] ".3")
    }
    if (list)
        exit 0
    for (h = 1; h <= header_count; h++)
        write_header(headers[h])
    for (i = 1; i <= item_count; i++)
        if (item_kind[i] != "constant")
            write_item(i)
}

function add_page(name, to) {
    pages[++page_count] = name
    is_page[name] = 1
    link[name] = to
}

function mentions(text, name) { return (" " text " ") ~ ("[^A-Za-z0-9_]" name "[^A-Za-z0-9_]") }

function link_macro(name, header,    i) {
    if (mentions(head[header], name)) {
        add_page(name, page_of_header[header])
        return
    }
    for (i = 1; i <= item_count; i++)
        if (item_header[i] == header && item_kind[i] != "constant" && mentions(item_doc[i], name)) {
            add_page(name, item_name[i])
            return
        }
}

# ---- writing: pages ----

function begin(name) {
    out = dir "/" name ".3"
    put(".\\\" SPDX-License-Identifier: MIT")
    put(".\\\" Made by from-headers.awk.")
    put(".Dd " date)
    put(".Dt " toupper(name) " 3")
    put(".Os")
    put(".Sh NAME")
}

# What a comment says first, for NAME and lists.
function summary(text) {
    gsub(/\n/, " ", text)
    sub(/^ +/, "", text)
    if (match(text, /[.:;]( |$)/))
        text = substr(text, 1, RSTART - 1)
    sub(/ +$/, "", text)
    return text ~ /^[A-Z][a-z ]/ ? tolower(substr(text, 1, 1)) substr(text, 2) : text
}

# The parts of a comment: what it says, what is returned, from where it may be called.
function part(text, which,    safety, returns) {
    text = "\n" text
    safety = returns = ""
    if (match(text, /[ \n]Threads: [^"]/)) {
        safety = substr(text, RSTART + 1)
        text = substr(text, 1, RSTART - 1)
    }
    if (match(text, /\nReturns/)) {
        returns = substr(text, RSTART + 1)
        text = substr(text, 1, RSTART - 1)
    }
    return which == "safety" ? safety : which == "returns" ? returns : substr(text, 2)
}

function put_section(title, text) {
    if (text !~ /[^ \n]/)
        return
    put(".Sh " title)
    put_doc(text)
}

function write_item(i,    n, k, names, text, note, safety) {
    self = item_name[i]
    begin(self)
    n = split(item_names[i], names, " ")
    for (k = 1; k <= n; k++)
        put(".Nm " names[k] (k < n ? " ," : ""))
    put(".Nd " escaped(summary(item_doc[i])))
    put(".Sh SYNOPSIS")
    put(".In sfid.h")
    for (k = 1; k <= n; k++)
        put_synopsis(names[k], item_text[i, names[k]], item_kind[i])
    note = item_note[i]
    put_section("DESCRIPTION", part(item_doc[i], "text"))
    if (item_kind[i] == "call" && part(note, "text") ~ /[^ \n]/) {
        put(".Pp")
        put_doc(part(note, "text"))
    }
    if (item_kind[i] == "type")
        put_members(item_text[i, self])
    put_section("RETURN VALUES", part(item_doc[i], "returns"))
    if (item_kind[i] == "call") {
        safety = part(item_doc[i], "safety")
        safety = safety != "" ? safety : part(note, "safety")
        put_section("SAFETY", safety != "" ? safety : part(head[item_header[i]], "safety"))
    }
    text = item_doc[i] note
    for (k = 1; k <= n; k++)
        text = text item_text[i, names[k]]
    put_see_also(text, page_of_header[item_header[i]])
    close(out)
}

function put_synopsis(name, text, kind,    n, i, depth, c, argument, arguments) {
    if (kind == "type") {
        gsub(/\n/, " ", text)
        if (sub(/ *[{].*/, "", text) && text ~ /^typedef/)
            text = text " " name
        sub(/;.*/, "", text)
        put(".Vt " quoted(text ";"))
        return
    }
    gsub(/ *\\?\n */, " ", text)
    if (kind == "macro")
        sub(/^#define +/, "", text)
    while (sub(/^SFID_(API|[A-Z_]+_CHECK|NON[A-Z]+|[A-Z]+_UNUSED)(\([^)]*\))? */, "", text))
        ;
    i = index(text, name "(")
    argument = substr(text, 1, i - 1)
    sub(/ +$/, "", argument)
    if (argument != "")
        put(".Ft " quoted(argument))
    arguments = argument = ""
    for (i += length(name) + 1; ; i++) {
        c = substr(text, i, 1)
        if (c == "" || (depth == 0 && (c == "," || c == ")"))) {
            gsub(/^ +| +$/, "", argument)
            arguments = arguments " " quoted(argument)
            argument = ""
            if (c != ",")
                break
        } else {
            depth += (c == "(") - (c == ")")
            argument = argument c
        }
    }
    put(".Fn " name (arguments == " \"\"" ? " void" : arguments))
}

# Members of a struct or an enum, each with the comment behind it.
function put_members(text,    enum, tag, prefix, comment, begun_list, n) {
    enum = text ~ /^(typedef )?enum/
    if (!match(text, /[{]/))
        return
    text = substr(text, RSTART + 1)
    sub(/[}][^}]*$/, "", text)
    for (;;) {
        sub(/^[ \n,]+/, "", text)
        if (text == "")
            break
        comment = ""
        if (text ~ /^#/) { # what an enum makes of a list
            if (match(text, /^#define [^\n]* [A-Z_]+##/))
                prefix = last_word(substr(text, RSTART, RLENGTH - 2))
            sub(/^[^\n]*/, "", text)
            continue
        }
        if (text ~ /^\/\*/) {
            text = substr(text, index(text, "*/") + 2)
            continue
        }
        if (!begun_list++)
            put(".Bl -tag -width Ds")
        if (match(text, /^[A-Z_0-9]+\([A-Za-z_0-9]+\)/)) {
            n = substr(text, 1, index(text, "(") - 1)
            text = substr(text, RLENGTH + 1)
            put_entries(macros[n], prefix)
            continue
        }
        match(text, enum ? "^[^,\n/]+" : "^[^;]+")
        if (RLENGTH < 1) {
            fail(out, "a member that cannot be read: " substr(text, 1, 40))
            exit 1
        }
        tag = substr(text, 1, RLENGTH)
        text = substr(text, RLENGTH + 1)
        sub(/^[;,]? */, "", text)
        if (text ~ /^\n? *\/\*\*</) {
            comment = substr(text, index(text, "<") + 1, index(text, "*/") - index(text, "<") - 1)
            text = substr(text, index(text, "*/") + 2)
        }
        put_member(tag, comment, enum)
    }
    if (begun_list)
        put(".El")
}

function last_word(text) {
    sub(/.* /, "", text)
    return text
}

# A number of SFID_OPTION_LIST has its default and bounds behind its comment.
function put_member(tag, comment, enum,    entry) {
    gsub(/[ \n]+/, " ", tag)
    gsub(/^ | $/, "", tag)
    if (self == "sfid_options" && match(macros["SFID_OPTION_LIST"], " N\\(" last_word(tag) ",[^)]*")) {
        split(substr(macros["SFID_OPTION_LIST"], RSTART, RLENGTH), entry, ", ")
        sub(/[ \n]+$/, "", comment)
        if (comment !~ /default/)
            comment = comment "; default " entry[3] (entry[4] ? ", at least " entry[4] : "") (entry[5] ? ", at most " entry[5] : "")
    }
    put(".It " (enum ? "Dv " : "Va ") quoted(tag))
    put_text(comment)
}

# The entries X(NAME, NUMBER, "text") of a list macro: of their arguments the first, the number and the last text.
function put_entries(text, prefix,    entry, n, i, name, number, said, quote) {
    gsub(/ *\\?\n */, " ", text)
    gsub(/" *"/, "", text)
    while (match(text, / X\([^"]*("[^"]*"[^")]*)*\)/)) {
        entry = substr(text, RSTART + 3, RLENGTH - 4)
        text = substr(text, RSTART + RLENGTH)
        name = number = said = ""
        n = split(entry, quote, "\"")
        if (n > 1)
            said = quote[n - 1]
        n = split(quote[1], quote, /, */)
        for (i = 1; i <= n; i++) {
            if (i == 1)
                name = quote[i]
            if (quote[i] ~ /^-?[0-9]+$/ && number == "")
                number = quote[i]
        }
        put_member(prefix name (number == "" ? "" : " = " number), said, 1)
    }
}

function put_see_also(text, header_page,    n, i, k, found, count, word, seen, swap, names) {
    n = split(text, word, /[^A-Za-z0-9_]+/)
    word[++n] = header_page
    for (i = 1; i <= n; i++) {
        k = word[i]
        if (!(k in seen) && is_page[k] && !link[k] && k != self && (k == header_page || k in item_of) && item_of[k] != item_of[self]) {
            seen[k] = 1
            found[++count] = k
        }
    }
    for (i = 2; i <= count; i++)
        for (k = i; k > 1 && tolower(found[k]) < tolower(found[k - 1]); k--) {
            swap = found[k]
            found[k] = found[k - 1]
            found[k - 1] = swap
        }
    put(".Sh SEE ALSO")
    for (i = 1; i <= count; i++)
        put(".Xr " found[i] " 3 ,")
    put(".Xr libsfid 7")
}

function write_header(header,    text, title) {
    self = page_of_header[header]
    begin(self)
    text = head[header]
    title = text
    sub(/\n( *\n(.|\n)*)?$/, "", title) # the first paragraph is "sfid/lane.h - title"
    text = substr(text, length(title) + 1)
    sub(/^[^ ]* - /, "", title)
    put(".Nm " header)
    put(".Nd " escaped(summary(title)))
    put(".Sh SYNOPSIS")
    put(".In sfid.h")
    put_section("DESCRIPTION", text ~ /[^ \n]/ ? text : title "\n")
    put_index(header, "call macro", "Calls")
    put_index(header, "type", "Types")
    put_index(header, "constant", "Constants")
    put(".Sh SEE ALSO")
    put(".Xr libsfid 7")
    close(out)
}

function put_index(header, kinds, title,    i, k, n, names, begun_list) {
    for (i = 1; i <= item_count; i++) {
        if (item_header[i] != header || !mentions(kinds, item_kind[i]))
            continue
        if (!begun_list++) {
            put(".Ss " title)
            put(".Bl -tag -width Ds -compact")
        }
        n = split(item_names[i], names, " ")
        for (k = 1; k <= n; k++)
            put(".It " (title == "Constants" ? "Dv " names[k] : "Xr " names[k] " 3"))
        put_text(title == "Constants" ? item_doc[i] : summary(item_doc[i]))
    }
    if (begun_list)
        put(".El")
}
