package store

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// FormatVersion is the version of a crawl directory that this program writes.
//
//	1  the signature index has pages that are fetched, not modified or duplicates
//	2  and those that could not be fetched lately but have their content
const FormatVersion = 2

// Names inside a crawl directory.
const (
	storeDir     = "store"
	segmentsDir  = "segments"
	pluginsDir   = "plugins"     // each plugin's own data
	formatFile   = "CRAWLER"     // format version and identity; written last when a directory is made
	unfinished   = "CRAWLER.new" // there while a directory is being made
	ownerFile    = "OWNER"       // who holds the lock, for messages
	maxSmallFile = 64 << 10
)

// Errors about a crawl directory; test for them with errors.Is.
var (
	ErrInUse      = errors.New("crawl directory is in use")
	ErrNewer      = errors.New("crawl directory is of a newer version")
	ErrOlder      = errors.New("crawl directory is of an older version")
	ErrIncomplete = errors.New("crawl directory is incomplete or damaged")
	ErrNoCrawl    = errors.New("no crawl directory")
)

// Owner says which process holds a crawl directory.
type Owner struct {
	PID     int
	Host    string
	Since   time.Time
	Command string
}

func (o Owner) String() string {
	s := "another process"
	if o.PID != 0 {
		s = fmt.Sprintf("process %d", o.PID)
	}
	if o.Command != "" {
		s += " (" + o.Command + ")"
	}
	if o.Host != "" {
		s += " on " + o.Host
	}
	if !o.Since.IsZero() {
		s += " since " + o.Since.Format(time.RFC3339)
	}
	return s
}

func self(command string) Owner {
	host, _ := os.Hostname()
	return Owner{PID: os.Getpid(), Host: host, Since: time.Now().UTC(), Command: command}
}

func (o Owner) encode() []byte {
	return fmt.Appendf(nil, "pid %d\nhost %s\nsince %s\ncommand %s\n", o.PID, oneLine(o.Host),
		o.Since.Format(time.RFC3339), oneLine(o.Command))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func readOwner(fsys FS, dir string) Owner {
	b, err := ReadFile(fsys, fsys.PathJoin(dir, ownerFile), maxSmallFile)
	if err != nil {
		return Owner{}
	}
	f := fields(b)
	o := Owner{Host: f["host"], Command: f["command"]}
	o.PID, _ = strconv.Atoi(f["pid"])
	o.Since, _ = time.Parse(time.RFC3339, f["since"])
	return o
}

// fields reads lines of "name value".
func fields(b []byte) map[string]string {
	m := make(map[string]string)
	sc := bufio.NewScanner(bytes.NewReader(b))
	for sc.Scan() {
		k, v, _ := strings.Cut(sc.Text(), " ")
		m[k] = v
	}
	return m
}

func exists(fsys FS, elem ...string) (bool, error) {
	_, err := fsys.Stat(fsys.PathJoin(elem...))
	if err == nil {
		return true, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return false, err
}

// Exists reports whether dir is a crawl directory, in whatever state. fsys may
// be nil for the operating system's.
func Exists(fsys FS, dir string) (bool, error) {
	if fsys == nil {
		fsys = OSFS()
	}
	return exists(fsys, dir, formatFile)
}

// layout finds out what dir is before anything in it is touched. fresh means
// that a new crawl directory is to be made (or its making, cut short, to be
// done again).
func layout(fsys FS, dir string, older bool) (fresh bool, err error) {
	var has [4]bool
	for i, name := range []string{formatFile, unfinished, storeDir, segmentsDir} {
		if has[i], err = exists(fsys, dir, name); err != nil {
			return false, err
		}
	}
	format, making, store, segments := has[0], has[1], has[2], has[3]
	switch {
	case !format && making:
		return true, nil
	case !format && (store || segments):
		return false, fmt.Errorf("%w: it has data but no file %s; copy it again, whole", ErrIncomplete, formatFile)
	case !format:
		return true, nil
	case !store:
		return false, fmt.Errorf("%w: the folder %s is missing; copy it again, whole", ErrIncomplete, storeDir)
	}
	v, err := readVersion(fsys, dir)
	if err == nil {
		err = checkVersion(dir, v, older)
	}
	return false, err
}

func readVersion(fsys FS, dir string) (int, error) {
	b, err := ReadFile(fsys, fsys.PathJoin(dir, formatFile), maxSmallFile)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	v, err := strconv.Atoi(fields(b)["version"])
	if err != nil || v < 1 {
		return 0, fmt.Errorf("%w: file %s names no version; copy it again, whole", ErrIncomplete, formatFile)
	}
	return v, nil
}

func checkVersion(dir string, v int, older bool) error {
	switch {
	case v > FormatVersion:
		return fmt.Errorf("%w: it has version %d, this program knows up to %d; use a newer program", ErrNewer, v, FormatVersion)
	case v < FormatVersion && !older:
		return fmt.Errorf("%w: it has version %d, this program writes %d; run: crawler db upgrade --dir %s", ErrOlder, v, FormatVersion, dir)
	}
	return nil
}

// begin marks dir as being made; finish makes it a crawl directory.
func begin(fsys FS, dir string) error {
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := WriteFile(fsys, fsys.PathJoin(dir, unfinished), nil); err != nil {
		return err
	}
	if err := SyncDir(fsys, fsys.PathDir(dir)); err != nil {
		return err
	}
	// What an earlier attempt left behind holds nothing that was committed.
	return fsys.RemoveAll(fsys.PathJoin(dir, storeDir))
}

func finish(fsys FS, dir string) error {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	data := fmt.Appendf(nil, "crawl directory of crawler; do not edit\nversion %d\nid %s\ncreated %s\n",
		FormatVersion, hex.EncodeToString(id), time.Now().UTC().Format(time.RFC3339))
	if err := WriteFile(fsys, fsys.PathJoin(dir, formatFile), data); err != nil {
		return err
	}
	if err := fsys.Remove(fsys.PathJoin(dir, unfinished)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return SyncDir(fsys, dir)
}
