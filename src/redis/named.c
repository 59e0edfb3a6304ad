/* SPDX-License-Identifier: MIT */
#include "redis/named.h"

#include <sfid.h>
#include <string.h>

#define NAME_MAX_LEN 253

static bool has_only(struct sfid__part p, const char *characters) {
    for (size_t i = 0; i < p.len; i++)
        if (strchr(characters, p.at[i]) == NULL)
            return false;
    return true;
}

/* What has no letter is meant as an address. Nor is a * alone a name: it would look as if it stood
 * for any host. */
static bool is_numbers(struct sfid__part p) {
    return has_only(p, "0123456789.*/") || memchr(p.at, ':', p.len) != NULL;
}

static bool is_pattern(struct sfid__part p) {
    return p.len <= NAME_MAX_LEN && has_only(p, SFID__ALNUM "._-*") && *p.at != '.';
}

/* Cuts the next item off. */
static struct sfid__part next_item(struct sfid__part *rest) {
    const struct sfid__part item = sfid__part_cut(rest, ",");
    if (rest->len > 0)
        *rest = sfid__part_behind(*rest, 1);
    return item;
}

int sfid__named_hosts_check(const struct sfid__uri_place *place, const char *list) {
    struct sfid__part rest = {list, strlen(list)};
    if (rest.len == 0 || list[rest.len - 1] == ',')
        return SFID__URI_BAD(place, "parameter named_hosts ends where a host has to follow");
    while (rest.len > 0) {
        const struct sfid__part item = next_item(&rest);
        struct sfid__network network;
        char shown[60];
        if (item.len > 0 &&
            (is_numbers(item) ? sfid__network_read(item, &network) : is_pattern(item)))
            continue;
        sfid__printable(shown, sizeof shown, item.at, item.len);
        return SFID__URI_BAD(
            place,
            "parameter named_hosts: \"%s\" is no host or network; give items such as 10.0.0.7, 10.0.0.0/8, fd00::/8 "
            "and redis-*.example, without port and [ ] (10.0.0.7/8 is none: bits behind the first 8 are set)",
            shown);
    }
    return 0;
}

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

static struct sfid__part without_last_dot(struct sfid__part p) {
    p.len -= p.len > 0 && p.at[p.len - 1] == '.';
    return p;
}

/* If characters do not fit, the last * takes one more. Once it has met a dot, no earlier one can
 * help. */
static bool fits(struct sfid__part pattern, struct sfid__part name) {
    size_t i = 0, k = 0, star = SIZE_MAX, from = 0;
    while (k < name.len) {
        if (i < pattern.len && pattern.at[i] == '*') {
            star = i++;
            from = k;
        } else if (i < pattern.len && small(pattern.at[i]) == small(name.at[k])) {
            i++;
            k++;
        } else if (star != SIZE_MAX && name.at[from] != '.') {
            i = star + 1;
            k = ++from;
        } else {
            return false;
        }
    }
    while (i < pattern.len && pattern.at[i] == '*')
        i++;
    return i == pattern.len;
}

bool sfid__named_hosts_have(const char *list, const char *name, const struct sockaddr *at) {
    struct sfid__part rest = {list, strlen(list)};
    const struct sfid__part whole = {name, name ? strlen(name) : 0};
    while (rest.len > 0) {
        const struct sfid__part item = next_item(&rest);
        struct sfid__network network;
        if (is_numbers(item) ? sfid__network_read(item, &network) && sfid__network_has(&network, at)
                             : name && fits(without_last_dot(item), without_last_dot(whole)))
            return true;
    }
    return false;
}
