-- min_compatible: 21
-- Since when somebody may do all that they may now: a vote counts only where that is before the proposal was made
-- (docs/decisions/0032). NULL: since they were added. An older program would count votes that do not.

ALTER TABLE principal ADD COLUMN rights_since BIGINT;
