-- SPDX-License-Identifier: MIT
\echo Use "CREATE EXTENSION sfid" to load this file. \quit

CREATE FUNCTION sfid_next() RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_next' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sfid_next() IS 'a new ID; needs sfid in shared_preload_libraries';

-- These go by sfid.layout, so they are stable. An index needs the forms below, which are given a layout.
CREATE FUNCTION sfid_time(id bigint) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'pgsfid_time' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_pid(id bigint) RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_pid' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_seq(id bigint) RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_seq' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_min(moment timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_min' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_max(moment timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_max' LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION sfid_time(id bigint, layout text) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'pgsfid_time' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_pid(id bigint, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_pid' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_seq(id bigint, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_seq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_min(moment timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_min' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_max(moment timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_max' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Text forms.
CREATE FUNCTION sfid_to_hex(id bigint) RETURNS text
AS 'MODULE_PATHNAME', 'pgsfid_to_hex' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_to_base32(id bigint) RETURNS text
AS 'MODULE_PATHNAME', 'pgsfid_to_base32' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_to_base62(id bigint) RETURNS text
AS 'MODULE_PATHNAME', 'pgsfid_to_base62' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_from_hex(id text) RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_from_hex' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_from_base32(id text) RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_from_base32' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_from_base62(id text) RETURNS bigint
AS 'MODULE_PATHNAME', 'pgsfid_from_base62' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- UUIDs of version 7, also those of other makers.
CREATE FUNCTION sfid_uuid7_time(id uuid) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'pgsfid_uuid7_time' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_uuid7_min(moment timestamptz) RETURNS uuid
AS 'MODULE_PATHNAME', 'pgsfid_uuid7_min' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sfid_uuid7_max(moment timestamptz) RETURNS uuid
AS 'MODULE_PATHNAME', 'pgsfid_uuid7_max' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
