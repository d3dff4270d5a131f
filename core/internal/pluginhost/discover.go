package pluginhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/host"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Builtin is a plugin in this binary.
type Builtin struct {
	ID       string
	Manifest []byte
}

// manifestName is the name of a manifest in a plugin's folder.
const manifestName = "plugin.hcl"

// maxManifest bounds a manifest file in bytes.
const maxManifest = 1 << 20

// Found is a plugin that was found.
type Found struct {
	*manifest.Manifest
	// Replaces says that this folder plugin stands in for the built-in of its id.
	Replaces bool
	// Err says why a folder plugin's program can't be started, such as that it is not built
	// yet: a mistake only where the plugin is chosen.
	Err error
}

// Discover reads the manifests of the built-ins and of the plugins in folders:
// each sub-folder with a plugin.hcl is a plugin, and so is a folder that holds
// one itself. It returns the plugins by id and every problem it met; a plugin
// with a problem is left out, except one whose program is not there (Found.Err).
// A folder plugin with a built-in's id replaces it; two folder plugins of the same
// id are a problem. A folder that does not exist is a problem only when it is not
// optional.
func Discover(builtins []Builtin, folders []string, optional func(folder string) bool) ([]Found, []error) {
	found := map[string]Found{}
	var errs []error
	for _, b := range builtins {
		m, err := manifest.Read(b.ID+"/"+manifestName, b.Manifest)
		switch {
		case err != nil:
			errs = append(errs, fault.New(fault.Invalid, err))
		case m.ID != b.ID:
			errs = append(errs, fault.Errorf(fault.Invalid, "%s: id is %q, want %q", m.File, m.ID, b.ID))
		case len(m.Command) > 0:
			errs = append(errs, fault.Errorf(fault.Invalid, "%s: a built-in plugin has no command", m.File))
		default:
			m.File = ""
			found[m.ID] = Found{Manifest: m}
		}
	}
	for _, folder := range folders {
		files, err := manifests(folder)
		if err != nil {
			if !errors.Is(err, os.ErrNotExist) || optional == nil || !optional(folder) {
				errs = append(errs, fault.New(fault.Invalid, fmt.Errorf("plugin folder %s: %w", folder, err)))
			}
			continue
		}
		for _, file := range files {
			m, err := readFolder(file)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			prev, ok := found[m.ID]
			if ok && prev.File != "" {
				errs = append(errs, fault.Errorf(fault.Invalid, "%s: plugin %s is already in %s", m.File, m.ID, prev.File))
				continue
			}
			_, err = host.Program(m)
			found[m.ID] = Found{Manifest: m, Replaces: ok, Err: err}
		}
	}
	out := make([]Found, 0, len(found))
	for _, f := range found {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Found) int { return strings.Compare(a.ID, b.ID) })
	return out, errs
}

// manifests returns the manifest files in folder and its sub-folders.
func manifests(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if e.Name() == manifestName {
			files = append(files, filepath.Join(folder, e.Name()))
			continue
		}
		file := filepath.Join(folder, e.Name(), manifestName)
		if _, err := os.Stat(file); err == nil {
			files = append(files, file)
		}
	}
	return files, nil
}

// Strays returns the sub-folders of a plugin folder that are no plugins, as they have no
// plugin.hcl; hidden ones are not meant to be.
func Strays(folder string) []string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // Discover tells
	}
	var out []string
	for _, e := range entries {
		if e.Name() == manifestName {
			return nil // the folder is a plugin itself
		}
		name := filepath.Join(folder, e.Name())
		if st, err := os.Stat(name); err != nil || !st.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if _, err := os.Stat(filepath.Join(name, manifestName)); errors.Is(err, os.ErrNotExist) {
			out = append(out, name)
		}
	}
	return out
}

// readFolder reads a folder plugin's manifest.
func readFolder(file string) (*manifest.Manifest, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", file, err)
	}
	if st, err := os.Stat(abs); err == nil && st.Size() > maxManifest {
		return nil, fault.Errorf(fault.Invalid, "%s: %d bytes are too many for a manifest", file, st.Size())
	}
	src, err := os.ReadFile(abs)
	if err != nil {
		return nil, fault.New(fault.Invalid, fmt.Errorf("read manifest: %w", err))
	}
	m, err := manifest.Read(abs, src)
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	m.File = abs
	return m, nil
}
