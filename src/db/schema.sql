-- Which migrations this database has seen. The runner needs these before the schema
-- exists, so they stand first of all statements and are prepared when used.

-- name: schema_exists sqlite
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_state'
-- name: schema_exists postgres
SELECT count(*) FROM pg_catalog.pg_tables
WHERE schemaname = current_schema() AND tablename = 'schema_state'

-- name: schema_get
-- The newest one speaks for the schema as it is.
SELECT version, min_compatible FROM schema_state ORDER BY version DESC LIMIT 1

-- name: schema_add
INSERT INTO schema_state (version, min_compatible, name, applied_at) VALUES ($1, $2, $3, $4)
