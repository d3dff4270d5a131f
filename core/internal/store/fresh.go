package store

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/gonutch/crawler/sdk/fault"
)

// Fresh makes the crawl directory dir in one step: fill makes it in a folder beside it, tmp, which becomes dir when fill is done without
// an error and is removed otherwise. dir must not be there, or be empty; else the error is fault.Invalid.
func Fresh(dir string, fill func(tmp string) error) error {
	dir = filepath.Clean(dir)
	names, err := os.ReadDir(dir)
	switch {
	case err == nil && len(names) > 0:
		return fault.Errorf(fault.Invalid, "the directory has content, which is not overwritten; name another one with --dir")
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := TempDir(dir)
	if err != nil {
		return err
	}
	err = fill(tmp.Path)
	if err == nil {
		err = os.Chmod(tmp.Path, 0o755)
	}
	if err == nil {
		err = os.Rename(tmp.Path, dir) // fails on a folder with content
	}
	if err != nil {
		return errors.Join(err, tmp.Remove())
	}
	if err := tmp.Done(); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}
