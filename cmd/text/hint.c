/* SPDX-License-Identifier: MIT */
/* hint.c - suggests what to type if the input is not plain IDs. */
#include "text/hint.h"

#include "io/say.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool has(const char *text, size_t len, char c) { return memchr(text, c, len) != NULL; }

/* Returns the first byte that is no space, and the last one; 0 if there is none. */
static char first_char(const char *text, size_t len) {
    while (len > 0 && (*text == ' ' || *text == '\t'))
        text++, len--;
    return len > 0 ? *text : '\0';
}

static char last_of(const char *text, size_t len) {
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        len--;
    return len > 0 ? text[len - 1] : '\0';
}

/* What another program has to unpack first, by its first bytes (RFC 1952, RFC 8878, the formats of
 * bzip2 and xz; Unicode 15, 2.6). */
static const char *hint_packed(const char *text, size_t len) {
    static const struct {
        const char *begin, *hint;
    } kinds[] = {{"\x1f\x8b", "; this is compressed: gzip -dc"},
                 {"BZh", "; this is compressed: bzip2 -dc"},
                 {"\xfd"
                  "7zXZ",
                  "; this is compressed: xz -dc"},
                 {"\x28\xb5\x2f\xfd", "; this is compressed: zstd -dc"},
                 {"\xff\xfe", "; this is UTF-16: iconv -f UTF-16 -t UTF-8"},
                 {"\xfe\xff", "; this is UTF-16: iconv -f UTF-16 -t UTF-8"}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (len >= strlen(kinds[i].begin) &&
            memcmp(text, kinds[i].begin, strlen(kinds[i].begin)) == 0)
            return kinds[i].hint;
    return "";
}

const char *hint_line(const char *text, size_t len, bool columns) {
    const char first = first_char(text, len), *packed = hint_packed(text, len);
    if (packed[0])
        return packed;
    if (first == '[')
        return "; for a JSON array: jq -r '.[]'";
    if (first == '{' && columns)
        return "; for a member of JSON objects: --key KEY";
    if (has(text, len, '\r'))
        return "; for lines that end in CR: tr '\\r' '\\n'";
    if (has(text, len, ';'))
        return "; for IDs with ; between them: tr ';' '\\n'";
    if (!columns)
        return "";
    if (has(text, len, '\t'))
        return "; for a column of TSV: --tsv COLUMN";
    if (has(text, len, ',') || first == '"')
        return "; for a column of CSV: --csv COLUMN";
    return has(text, len, ' ') && first != '\0' && text[0] != ' ' && text[len - 1] != ' '
               ? "; for IDs anywhere in text: --grep"
               : "";
}

const char *hint_object(const char *text, size_t len) {
    const char first = first_char(text, len), last = last_of(text, len),
               *packed = hint_packed(text, len);
    if (packed[0])
        return packed;
    if (first == '[' || (first == '{' && last == ','))
        return "; for the objects of an array: jq -c '.[]'";
    return first == '{' && last != '}' ? "; for objects over several lines: jq -c ." : "";
}

const char *hint_columns(char separator, const char *text, size_t len) {
    const char *packed = hint_packed(text, len);
    if (packed[0] || has(text, len, separator))
        return packed;
    if (has(text, len, separator == ',' ? '\t' : ','))
        return separator == ',' ? "; for TABs between columns: --tsv"
                                : "; for commas between columns: --csv";
    if (!has(text, len, ';'))
        return "";
    return separator == ',' ? "; columns must be separated by commas, not ;"
                            : "; columns must be separated by TABs, not ;";
}

/* ---- arguments ----------------------------------------------------------- */

/* Returns the option that reads IDs from a file with this name. */
static const char *option_for(const char *name) {
    static const struct {
        const char *suffix, *option;
    } kinds[] = {{".csv", " --csv COLUMN"}, {".tsv", " --tsv COLUMN"}, {".json", " --key KEY"},
                 {".jsonl", " --key KEY"},  {".ndjson", " --key KEY"}, {".log", " --grep"}};
    const char *suffix = strrchr(name, '.');
    for (size_t i = 0; suffix && i < COUNT_OF(kinds); i++)
        if (strcmp(suffix, kinds[i].suffix) == 0)
            return kinds[i].option;
    return "";
}

/* Returns whether the name can be typed in single quotes, as quote() shows it. */
static bool is_plain(const char *name) {
    const struct quoted q = quote(name, strlen(name));
    return strlen(q.text) == strlen(name) + 2 && memcmp(q.text + 1, name, strlen(name)) == 0 &&
           strchr(name, '\'') == NULL;
}

bool hint_file(const char *typed, bool columns, const char *name, char why[HINT]) {
    struct stat st;
    if (stat(name, &st) < 0 || S_ISDIR(st.st_mode))
        return false;
    snprintf(why, HINT,
             "is not an ID, but a file has that name; to read the IDs in it: sfid %s%s < %s", typed,
             columns ? option_for(name) : "", is_plain(name) ? QUOTE(name) : "FILE");
    return true;
}

const char *hint_argument(const char *text) {
    return strpbrk(text, ",;[{ \t\n") ? "; pass each ID as its own argument" : "";
}
