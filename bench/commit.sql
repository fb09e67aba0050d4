-- What bench/commit.c measures. bench/commit.py gives the same statement to pgbench.

-- name: commit_insert
INSERT INTO bench_row (client, n, body) VALUES ($1, $2, $3)
