package protocolfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/model"
)

const (
	unreadableEnv = "PROTOCOL_FILE_UNREADABLE" // folder to try without rights
	nobody        = 65534
)

// TestWithoutRights: what may not be read is denied with 401, a file by its own
// mode, all in a folder by the folder's. As root reads everything, the test runs
// itself as another user then.
func TestWithoutRights(t *testing.T) {
	if dir := os.Getenv(unreadableEnv); dir != "" {
		withoutRights(t, dir)
		return
	}
	dir := tree(t, "r/a", "r/d/x", "r/open")
	root := dir + "/r"
	for _, p := range []string{root + "/a", root + "/d"} {
		if err := os.Chmod(p, 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(root+"/d", 0o755) })
	if os.Geteuid() != 0 {
		withoutRights(t, root)
		return
	}
	for p := dir; len(p) > len(os.TempDir()); p = filepath.Dir(p) { // temporary folders are for their owner only
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := copyProgram(t, dir)
	cmd := exec.Command(program, "-test.run=^TestWithoutRights$", "-test.v")
	cmd.Env = append(os.Environ(), unreadableEnv+"="+root)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("needs the right to run a process as another user")
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestWithoutRights") {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

func copyProgram(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	name := filepath.Join(dir, "program")
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

func withoutRights(t *testing.T, root string) {
	t.Helper()
	f := fetcher(t, root)
	for _, p := range []string{"/a", "/d/", "/d/x"} {
		if r := libtest.Get(t, f, "file://"+root+p); r.Status.Code != model.ProtocolAccessDenied || r.Status.HTTP != 401 || len(r.Body) != 0 {
			t.Errorf("%s: %v %q", p, r.Status, r.Body)
		}
	}
	if r := libtest.Get(t, f, "file://"+root+"/open"); r.Status.Code != model.ProtocolSuccess {
		t.Errorf("/open: %v", r.Status)
	}
}

// TestHugeFolder: a folder with more names than max_entries is listed as far as it
// goes, in order, and says so; the time for a request binds it.
func TestHugeFolder(t *testing.T) {
	dir := tree(t)
	const n = 20_000
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%05d.txt", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := libtest.Get(t, fetcher(t, dir), "file://"+dir+"/")
	hrefs, _ := links(t, r.Body)
	if r.Status.Code != model.ProtocolSuccess || r.Truncated != "" || len(hrefs) != n || hrefs[0] != "./file-00000.txt" || hrefs[n-1] != fmt.Sprintf("./file-%05d.txt", n-1) {
		t.Errorf("%v, %d links, truncated %q", r.Status, len(hrefs), r.Truncated)
	}
	r = libtest.Get(t, fetcher(t, dir, func(c *Config) { c.MaxEntries = n / 2 }), "file://"+dir+"/")
	if hrefs, _ = links(t, r.Body); len(hrefs) != n/2 || r.Truncated != "length" {
		t.Errorf("%d links, truncated %q", len(hrefs), r.Truncated)
	}
	for i := 1; i < len(hrefs); i++ {
		if hrefs[i-1] >= hrefs[i] {
			t.Fatalf("%s stands before %s", hrefs[i-1], hrefs[i])
		}
	}
}

// TestSpecialFilesStayClosed: whoever opens a pipe shows itself to the one at the
// other end; the plugin never does, whether it is asked for the pipe, for a link to
// it, or for the folder.
func TestSpecialFilesStayClosed(t *testing.T) {
	dir := tree(t, "link -> pipe", "far/deep -> ../pipe")
	if err := syscall.Mkfifo(dir+"/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	for _, follow := range []bool{true, false} {
		f := fetcher(t, dir, func(c *Config) { c.CrawlRedirectNoncanonial = follow })
		for _, p := range []string{"/pipe", "/link", "/far/deep", "/", "/far/"} {
			r := libtest.Get(t, f, "file://"+dir+p)
			if p[len(p)-1] != '/' && r.Status.Code != model.ProtocolAccessDenied {
				t.Errorf("%s: %v", p, r.Status)
			}
			// A writer that does not wait gets ENXIO as long as nobody reads.
			if fd, err := syscall.Open(dir+"/pipe", syscall.O_WRONLY|syscall.O_NONBLOCK, 0); !errors.Is(err, syscall.ENXIO) {
				_ = syscall.Close(fd)
				t.Errorf("%s: the pipe is open: %v", p, err)
			}
		}
	}
}
