/* SPDX-License-Identifier: MIT */
/* ids.c - functions that only read IDs: they need no keeper. */
#include "pgsfid.h"

#include "common/int.h"
#include "datatype/timestamp.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#define POSTGRES_EPOCH_MS INT64CONST(946684800000) /* 2000-01-01 */
#define UUID7_LAST_MS ((INT64CONST(1) << 48) - 1)

/* The beginning of a text, for an error. */
static char *shown(const char *text) {
    const int n = (int)strlen(text);
    return pnstrdup(text, pg_mbcliplen(text, n, 60));
}

/* ---- layouts -------------------------------------------------------------------- */

/* The layout that a call gave last, kept with the place of the call. */
typedef struct Known {
    sfid_layout layout;
    char text[SFID_LAYOUT_STR_LEN];
} Known;

static const sfid_layout *parse_layout(FunctionCallInfo fcinfo, const char *text) {
    Known *known = fcinfo->flinfo->fn_extra;
    if (known == NULL)
        known = fcinfo->flinfo->fn_extra =
            MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof *known);
    if (*text && strcmp(known->text, text) == 0)
        return &known->layout;
    known->text[0] = '\0';
    if (sfid_layout_parse(text, &known->layout) < 0)
        ereport(
            ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("\"%s\" is not a layout", shown(text)),
             errhint(
                 "Give the name of a preset, such as sfid or twitter, or TIME:PID:SEQ[/UNIT][@EPOCH_MS].")));
    strlcpy(known->text, text, sizeof known->text);
    if (strlen(text) >= sizeof known->text)
        known->text[0] = '\0'; /* too long to be compared */
    return &known->layout;
}

/* The second argument, or sfid.layout. */
static const sfid_layout *layout_of(FunctionCallInfo fcinfo) {
    if (PG_NARGS() < 2)
        return &pgsfid_layout;
    char *name = text_to_cstring(PG_GETARG_TEXT_PP(1));
    const sfid_layout *l = parse_layout(fcinfo, name);
    pfree(name);
    return l;
}

/* ---- times ------------------------------------------------------------------------ */

static TimestampTz time_of_ms(int64 unix_ms) {
    int64 ms, us;
    if (pg_sub_s64_overflow(unix_ms, POSTGRES_EPOCH_MS, &ms) ||
        pg_mul_s64_overflow(ms, 1000, &us) || !IS_VALID_TIMESTAMP(us))
        ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                        errmsg("the time of the ID is out of range for timestamptz")));
    return us;
}

static int64 ms_of_time(TimestampTz t) {
    if (TIMESTAMP_IS_NOBEGIN(t))
        return PG_INT64_MIN;
    if (TIMESTAMP_IS_NOEND(t))
        return PG_INT64_MAX;
    return t / 1000 - (t % 1000 < 0) + POSTGRES_EPOCH_MS;
}

/* ---- IDs of 64 bits ----------------------------------------------------------------- */

static sfid_parts parts_of(FunctionCallInfo fcinfo) {
    const int64 id = PG_GETARG_INT64(0);
    const sfid_layout *l = layout_of(fcinfo);
    sfid_parts parts;
    if (sfid_parse(l, id, &parts) < 0) {
        char name[SFID_LAYOUT_STR_LEN] = "";
        if (sfid_layout_format(l, name, sizeof name) < 0)
            strlcpy(name, "?", sizeof name);
        ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                        errmsg(INT64_FORMAT " is not an ID of layout \"%s\"", id, name)));
    }
    return parts;
}

PG_FUNCTION_INFO_V1(pgsfid_time);
Datum pgsfid_time(PG_FUNCTION_ARGS) { PG_RETURN_TIMESTAMPTZ(time_of_ms(parts_of(fcinfo).unix_ms)); }

PG_FUNCTION_INFO_V1(pgsfid_pid);
Datum pgsfid_pid(PG_FUNCTION_ARGS) { PG_RETURN_INT64((int64)parts_of(fcinfo).pid); }

PG_FUNCTION_INFO_V1(pgsfid_seq);
Datum pgsfid_seq(PG_FUNCTION_ARGS) { PG_RETURN_INT64((int64)parts_of(fcinfo).seq); }

PG_FUNCTION_INFO_V1(pgsfid_min);
Datum pgsfid_min(PG_FUNCTION_ARGS) {
    PG_RETURN_INT64(sfid_min_at(layout_of(fcinfo), ms_of_time(PG_GETARG_TIMESTAMPTZ(0))));
}

PG_FUNCTION_INFO_V1(pgsfid_max);
Datum pgsfid_max(PG_FUNCTION_ARGS) {
    PG_RETURN_INT64(sfid_max_at(layout_of(fcinfo), ms_of_time(PG_GETARG_TIMESTAMPTZ(0))));
}

/* ---- text ------------------------------------------------------------------------------ */

static text *write_id(sfid_form form, int64 id) {
    char buf[SFID_TEXT_LEN];
    if (sfid_to_text(form, id, buf, sizeof buf) < 0)
        ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                        errmsg(INT64_FORMAT " is not an ID: it is negative", id)));
    return cstring_to_text(buf);
}

static int64 read_id(sfid_form form, const text *t) {
    int64_t id;
    if (sfid_from_text(form, VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t), &id) < 0)
        ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
                        errmsg("\"%s\" is not an ID in %s", shown(text_to_cstring(t)),
                               sfid_form_name(form))));
    return id;
}

#define FORM(name, form) \
    PG_FUNCTION_INFO_V1(pgsfid_to_##name); \
    Datum pgsfid_to_##name(PG_FUNCTION_ARGS) { \
        PG_RETURN_TEXT_P(write_id(form, PG_GETARG_INT64(0))); \
    } \
    PG_FUNCTION_INFO_V1(pgsfid_from_##name); \
    Datum pgsfid_from_##name(PG_FUNCTION_ARGS) { \
        PG_RETURN_INT64(read_id(form, PG_GETARG_TEXT_PP(0))); \
    }

FORM(hex, SFID_HEX)
FORM(base32, SFID_BASE32)
FORM(base62, SFID_BASE62)

/* ---- UUIDs of version 7 ------------------------------------------------------------------ */

/* All bits beside time, version and variant are `fill`. A moment outside the range counts as its
 * nearer end. */
static pg_uuid_t *uuid7_at(TimestampTz t, unsigned char fill) {
    pg_uuid_t *uuid = palloc(sizeof *uuid);
    int64 ms = Min(Max(ms_of_time(t), 0), UUID7_LAST_MS);
    memset(uuid->data, fill, UUID_LEN);
    for (int i = 5; i >= 0; i--, ms >>= 8)
        uuid->data[i] = (unsigned char)ms;
    uuid->data[6] = 0x70 | (fill & 0x0f);
    uuid->data[8] = 0x80 | (fill & 0x3f);
    return uuid;
}

PG_FUNCTION_INFO_V1(pgsfid_uuid7_min);
Datum pgsfid_uuid7_min(PG_FUNCTION_ARGS) {
    PG_RETURN_UUID_P(uuid7_at(PG_GETARG_TIMESTAMPTZ(0), 0));
}

PG_FUNCTION_INFO_V1(pgsfid_uuid7_max);
Datum pgsfid_uuid7_max(PG_FUNCTION_ARGS) {
    PG_RETURN_UUID_P(uuid7_at(PG_GETARG_TIMESTAMPTZ(0), 0xff));
}

PG_FUNCTION_INFO_V1(pgsfid_uuid7_time);
Datum pgsfid_uuid7_time(PG_FUNCTION_ARGS) {
    const unsigned char *data = PG_GETARG_UUID_P(0)->data;
    int64 ms = 0;
    if (data[6] >> 4 != 7 || data[8] >> 6 != 2)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("the UUID is not one of version 7")));
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | data[i];
    PG_RETURN_TIMESTAMPTZ(time_of_ms(ms));
}
