-- What only a program that knows schema 3 can say.

-- name: remark_set
UPDATE item SET remark = $2 WHERE id = $1

-- name: remark_get
SELECT remark FROM item WHERE id = $1
