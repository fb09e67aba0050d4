-- min_compatible: 1

-- engine: sqlite
CREATE TABLE bench_row (
	id INTEGER PRIMARY KEY,
	client BIGINT NOT NULL,
	n BIGINT NOT NULL,
	body TEXT NOT NULL
);
-- engine: postgres
CREATE TABLE bench_row (
	id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	client BIGINT NOT NULL,
	n BIGINT NOT NULL,
	body TEXT NOT NULL
);
