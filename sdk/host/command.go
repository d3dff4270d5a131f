package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Program returns the program that starts the folder plugin m, whose File is
// the absolute path of its plugin.hcl: a file in that folder, or else a program
// of the search path such as "python3". It runs with the folder as its working
// directory and the rest of m.Command as its arguments.
func Program(m *manifest.Manifest) (string, error) {
	if len(m.Command) == 0 {
		return "", fault.Errorf(fault.Invalid, "%s: command is missing: a plugin in a folder needs one, such as command = [\"./%s\"]", m.File, m.ID)
	}
	name := m.Command[0]
	local := name
	if !filepath.IsAbs(local) {
		local = filepath.Join(filepath.Dir(m.File), name)
	}
	st, err := os.Stat(local)
	switch {
	case err == nil && st.IsDir():
		return "", fault.Errorf(fault.Invalid, "%s: command %q is a folder", m.File, name)
	case err == nil && st.Mode()&0o111 == 0:
		return "", fault.Errorf(fault.Invalid, "%s: command %q can't be executed: chmod +x %s", m.File, name, local)
	case err == nil:
		return local, nil
	case strings.ContainsRune(name, filepath.Separator):
		return "", fault.Errorf(fault.Invalid, "%s: command %q: there is no file %s (not built yet?)", m.File, name, local)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fault.Errorf(fault.Invalid, "%s: command %q is neither in the plugin's folder nor on the search path", m.File, name)
	}
	return path, nil
}

// Command returns the command that starts the folder plugin m, without an
// environment.
func Command(m *manifest.Manifest) (*exec.Cmd, error) {
	path, err := Program(m)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, m.Command[1:]...)
	cmd.Dir = filepath.Dir(m.File)
	return cmd, nil
}
