-- min_compatible: 22
-- When the person of a session last proved who they are (ID-8): what decides who may approve wants that to be recent.

-- 0: before this was kept; they prove it again
ALTER TABLE session ADD COLUMN authenticated_at BIGINT NOT NULL DEFAULT 0;
