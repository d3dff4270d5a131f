package indexerbleve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk/fault"
)

// The parts of an index, as bleve names them, and the folder in which it is made.
const (
	metaFile    = "index_meta.json"
	storeFolder = "store"
	newFolder   = ".new"
)

// create makes an empty index in dir, whole or not at all: the file that makes the folder an index
// comes last. options are changed.
func create(dir string, c Config, options map[string]any) error {
	m, err := newMapping(c)
	if err != nil {
		return fmt.Errorf("index mapping: %w", err)
	}
	tmp := filepath.Join(dir, newFolder)
	if !exists(filepath.Join(tmp, metaFile)) || exists(filepath.Join(tmp, storeFolder)) || !exists(filepath.Join(dir, storeFolder)) {
		if err := os.RemoveAll(tmp); err != nil {
			return err
		}
		index, err := bleve.NewUsing(tmp, m, scorch.Name, scorch.Name, options)
		if err == nil {
			err = index.Close()
		}
		if err == nil {
			err = os.Rename(filepath.Join(tmp, storeFolder), filepath.Join(dir, storeFolder))
		}
		if err != nil {
			return errors.Join(err, os.RemoveAll(tmp))
		}
	} // else an earlier process ended here
	if err := os.Rename(filepath.Join(tmp, metaFile), filepath.Join(dir, metaFile)); err != nil {
		return err
	}
	return os.Remove(tmp)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// openError says what to do about an index that can't be opened or made.
func openError(dir string, err error) error {
	var system syscall.Errno
	switch {
	case errors.As(err, &system):
		return libwriter.FolderError(err)
	case strings.Contains(err.Error(), "timeout"): // of its lock
		return fault.Errorf(fault.Permanent, "open index %s: another crawler or index_writer is using it", dir)
	}
	return fault.Errorf(fault.Permanent, "open index %s: %s; if it is damaged: remove the folder, and crawler reindex fills it anew", dir, strings.Join(strings.Fields(err.Error()), " "))
}
