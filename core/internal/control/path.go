package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// maxPath is how long a socket's address can be: sun_path has 104 bytes on the
// BSDs and 108 on Linux, with a final NUL.
const maxPath = 103

// withShortPath calls f with a path of the file name in dir that is short enough
// for a socket: the real one, or one through a symbolic link that is there
// during the call only.
func withShortPath(dir, name string, f func(path string) error) (err error) {
	if p := filepath.Join(dir, name); len(p) <= maxPath {
		return f(p)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, base := range []string{os.TempDir(), "/tmp"} {
		if len(base)+len("/crawler-1234567890/d/")+len(name) > maxPath {
			continue
		}
		tmp, err := os.MkdirTemp(base, "crawler-")
		if err != nil {
			continue
		}
		link := filepath.Join(tmp, "d")
		err = os.Symlink(abs, link)
		if err == nil {
			err = f(filepath.Join(link, name))
		}
		return errors.Join(err, os.RemoveAll(tmp))
	}
	return fmt.Errorf("the path of %s is longer than the %d bytes that a socket's can have, and there is no temporary folder for a shorter one: set TMPDIR",
		filepath.Join(dir, name), maxPath)
}
