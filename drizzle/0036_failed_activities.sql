CREATE INDEX activities_failed ON training.activities (account_id, started_at DESC) WHERE detail_state = 'failed';
