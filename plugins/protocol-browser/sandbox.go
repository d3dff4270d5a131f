package protocolbrowser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// sandbox is what is asked of the machine to know whether Chromium can lock pages in. Tests
// put answers of their own in.
type sandbox struct {
	root       func() bool
	namespaces func() error // nil: this user may have namespaces of his own
	helpers    func(browser string) []string
}

func thisMachine() sandbox {
	return sandbox{root: func() bool { return os.Getuid() == 0 }, namespaces: tryNamespaces, helpers: sandboxHelpers}
}

// usable returns why pages of browser can't be locked in, and what to do about it; nil when
// they can: by user namespaces, or by the set-uid helper that comes with Chromium
// (its sandbox/linux documentation: the layer-1 sandbox).
func (s sandbox) usable(browser string) error {
	if s.root() {
		return errors.New("root can't run Chromium in its sandbox: run the crawler as another user, or set sandbox = false if all pages are trusted")
	}
	err := s.namespaces()
	if err == nil {
		return nil
	}
	for _, file := range s.helpers(browser) {
		if isSetUID(file) {
			return nil
		}
	}
	return fmt.Errorf("the browser's sandbox can't be used on this machine: this user may have no namespaces of its own (%w), and there is no set-uid helper; "+
		"allow namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; of a container, its seccomp profile), "+
		"or install the helper (Debian: apt-get install chromium-sandbox), or set sandbox = false if all pages are trusted", err)
}

// sandboxHelpers are the files that the helper of a browser can be.
func sandboxHelpers(browser string) []string {
	out := []string{os.Getenv("CHROME_DEVEL_SANDBOX")}
	if file, err := filepath.EvalSymlinks(browser); err == nil {
		out = append(out, filepath.Join(filepath.Dir(file), "chrome-sandbox"))
	}
	return append(out, "/usr/lib/chromium/chrome-sandbox", "/usr/lib/chromium-browser/chrome-sandbox", "/opt/google/chrome/chrome-sandbox")
}
