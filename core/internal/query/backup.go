package query

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gonutch/crawler/core/internal/backup"
	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/sdk/fault"
)

const backupName = "backup"

// BackupQuery asks for a backup.
type BackupQuery struct {
	To      string `json:"to"` // absolute
	Program string `json:"program"`
}

// backupStep is one value of the stream: progress, or the report at the end.
type backupStep struct {
	Progress *backup.Progress `json:"progress,omitempty"`
	Report   *backup.Report   `json:"report,omitempty"`
}

// Backup has whoever has the crawl open write a backup, and calls told, when it is
// not nil, as it goes on. When ctx ends the backup ends and leaves nothing.
func Backup(ctx context.Context, t Target, q BackupQuery, told func(backup.Progress)) (backup.Report, error) {
	if t.Client == nil {
		return t.Source.backup(ctx, q, told)
	}
	return backupBy(ctx, t.Client, q, told)
}

func backupBy(ctx context.Context, c *control.Client, q BackupQuery, told func(backup.Progress)) (rep backup.Report, err error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return rep, err
	}
	done := false
	err = c.Stream(ctx, backupName, raw, func(v json.RawMessage) error {
		var s backupStep
		if err := json.Unmarshal(v, &s); err != nil {
			return fmt.Errorf("read progress: %w", err)
		}
		if s.Progress != nil && told != nil {
			told(*s.Progress)
		}
		if s.Report != nil {
			rep, done = *s.Report, true
		}
		return nil
	})
	if err == nil && !done {
		err = fault.Errorf(fault.Shutdown, "the running process ended before the backup was whole")
	}
	return rep, err
}

func (s *Source) backup(ctx context.Context, q BackupQuery, told func(backup.Progress)) (backup.Report, error) {
	if !s.backing.TryLock() {
		return backup.Report{}, fault.Errorf(fault.Transient, "another backup of the crawl is being made; try again when it is done")
	}
	defer s.backing.Unlock()
	return backup.Write(ctx, backup.Deps{Store: s.Crawl.Store, Segs: s.Crawl.Segs, Program: q.Program}, q.To, told)
}

func (s *Source) streamBackup(ctx context.Context, raw json.RawMessage, send func(json.RawMessage) error) error {
	var q BackupQuery
	if err := decode(backupName, raw, &q); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	step := func(v backupStep) error {
		b, err := json.Marshal(v)
		if err == nil {
			err = send(b)
		}
		return err
	}
	rep, err := s.backup(ctx, q, func(p backup.Progress) {
		if err := step(backupStep{Progress: &p}); err != nil {
			cancel(err)
		}
	})
	if err != nil {
		return err
	}
	return step(backupStep{Report: &rep})
}
