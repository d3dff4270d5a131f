package importnutch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gonutch/crawler/core/internal/hadoop"
	"github.com/gonutch/crawler/sdk/fault"
)

// Source says where Nutch's folders are. Each may be missing.
type Source struct {
	CrawlDB  string
	LinkDB   string
	Segments []string // folders of single segments
}

// Find returns the folders of a crawl as bin/crawl lays them out: crawldb, linkdb and segments in dir. Those that are given stay;
// segments may be a folder of segments or a segment.
func Find(dir, crawldb, linkdb, segments string) (Source, error) {
	s := Source{CrawlDB: crawldb, LinkDB: linkdb}
	for _, x := range []struct {
		path *string
		name string
	}{{&s.CrawlDB, "crawldb"}, {&s.LinkDB, "linkdb"}, {&segments, "segments"}} {
		given := *x.path != ""
		if !given {
			*x.path = filepath.Join(dir, x.name)
		}
		st, err := os.Stat(*x.path)
		switch {
		case err == nil && !st.IsDir():
			return s, fault.Errorf(fault.Invalid, "%s is no folder", *x.path)
		case errors.Is(err, os.ErrNotExist) && !given:
			*x.path = ""
		case err != nil:
			return s, fault.New(fault.Invalid, err)
		}
	}
	var err error
	if s.Segments, err = findSegments(segments); err != nil {
		return s, err
	}
	if s.CrawlDB == "" && s.LinkDB == "" && len(s.Segments) == 0 {
		return s, fault.Errorf(fault.Invalid, "%s has no crawldb, linkdb or segments; name the folder that bin/crawl was given, or each by an option", dir)
	}
	return s, nil
}

// Parts of a segment.
const (
	partGenerate = "crawl_generate"
	partFetch    = "crawl_fetch"
	partContent  = "content"
	partParse    = "crawl_parse"
	partData     = "parse_data"
	partText     = "parse_text"
)

// isSegment reports whether dir has a part of a segment.
func isSegment(dir string) bool {
	return slices.ContainsFunc([]string{partGenerate, partFetch, partContent, partParse, partData, partText}, func(part string) bool {
		st, err := os.Stat(filepath.Join(dir, part))
		return err == nil && st.IsDir()
	})
}

// findSegments returns the segments in dir, or dir, oldest first.
func findSegments(dir string) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	if isSegment(dir) {
		abs, err := filepath.Abs(dir) // its name is wanted, which "." does not have
		return []string{abs}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries { // names are times, so this is their order
		if d := filepath.Join(dir, e.Name()); isSegment(d) {
			out = append(out, d)
		}
	}
	return out, nil
}

// lockFile is what Nutch's jobs leave in a database while they change it.
const lockFile = ".locked"

// databaseParts returns the data files of a CrawlDb or LinkDb. force overrides a lock.
func databaseParts(db string, force bool) ([]string, error) {
	if db == "" {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(db, lockFile)); err == nil && !force {
		return nil, fault.Errorf(fault.Invalid, "%s is locked (%s): a Nutch job changes it, or was killed; --force reads it all the same", db, lockFile)
	}
	names, err := hadoop.Parts(filepath.Join(db, "current"))
	if err == nil && len(names) == 0 {
		err = fault.Errorf(fault.Invalid, "%s has no data: there is no current/part-*", db)
	}
	return names, err
}

// segmentParts are the data files of a segment by part.
type segmentParts map[string][]string

func partsOf(dir string) (segmentParts, error) {
	p := segmentParts{}
	for _, part := range []string{partGenerate, partFetch, partContent, partData, partText} {
		names, err := hadoop.Parts(filepath.Join(dir, part))
		if err != nil {
			return nil, fmt.Errorf("read segment %s: %w", dir, err)
		}
		p[part] = names
	}
	return p, nil
}
