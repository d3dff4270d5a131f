package pluginhost

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/host"
	"github.com/gonutch/crawler/sdk/manifest"
)

// envRun marks every process that a plugin starts, as long as it does not wipe
// its environment: "RUN.NUMBER", where RUN names the host.
const envRun = "CRAWLER_PLUGIN_RUN"

// usualEnv are the variables of this process that every plugin gets. Whatever
// else is in the environment (CRAWLER_ settings, credentials) stays here.
func usualEnv() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "TMPDIR",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "GODEBUG", "GOGC", "GOCOVERDIR", "GORACE", "GOTRACEBACK",
	}
}

// environment returns what a plugin's process gets, by name.
func (h *Host) environment(limit int64, run string) []string {
	env := map[string]string{}
	for _, name := range append(usualEnv(), h.opts.PassEnv...) {
		if v, ok := os.LookupEnv(name); ok {
			env[name] = v
		}
	}
	if h.opts.MaxProcs > 0 {
		env["GOMAXPROCS"] = strconv.Itoa(h.opts.MaxProcs)
	}
	if limit > 0 {
		// The collector works harder before the watch or the kernel has to act.
		env["GOMEMLIMIT"] = strconv.FormatInt(limit*4/5, 10)
	}
	for name, v := range h.opts.Env {
		env[name] = v
	}
	env[handshake.EnvLifelineFD] = "3"
	env[handshake.EnvMaxMessage] = strconv.Itoa(h.opts.MaxMessage)
	env[handshake.EnvLogLevel] = h.opts.LogLevel
	env[envRun] = run
	out := make([]string, 0, len(env))
	for name, v := range env {
		out = append(out, name+"="+v)
	}
	slices.Sort(out)
	return out
}

// command returns what starts the plugin, without its environment.
func (h *Host) command(m *manifest.Manifest) (*exec.Cmd, error) {
	if len(m.Command) == 0 {
		cmd := exec.Command(h.opts.Executable, "plugin", "serve", m.ID)
		cmd.Args[0] = "crawler"
		return cmd, nil
	}
	path, err := host.Program(m)
	if err != nil {
		return nil, err
	}
	if want := h.opts.Checksums[m.ID]; want != "" {
		if err := checkSum(m, path, want); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(path, m.Command[1:]...)
	cmd.Dir = filepath.Dir(m.File)
	return cmd, nil
}

// checkSum compares the SHA-256 of the files of the plugin's folder that its
// command names, one after the other, with want in hex.
func checkSum(m *manifest.Manifest, path, want string) error {
	dir := filepath.Dir(m.File)
	files := []string{path}
	if !strings.HasPrefix(path, dir+string(filepath.Separator)) {
		files = nil
	}
	for _, arg := range m.Command[1:] {
		file := filepath.Join(dir, arg)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return fault.Errorf(fault.Invalid, "checksum of plugin %s: its command names no file of its folder", m.ID)
	}
	h := sha256.New()
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return fault.New(fault.Invalid, fmt.Errorf("checksum of plugin %s: %w", m.ID, err))
		}
		_, err = io.Copy(h, f)
		_ = f.Close()
		if err != nil {
			return fmt.Errorf("checksum of plugin %s: read %s: %w", m.ID, file, err)
		}
	}
	got := hex.EncodeToString(h.Sum(nil))
	if subtle.ConstantTimeCompare([]byte(got), []byte(strings.ToLower(want))) != 1 {
		return fault.Errorf(fault.Denied, "plugin %s: the SHA-256 of %s is %s, plugin.checksums wants %s", m.ID, strings.Join(files, ", "), got, want)
	}
	return nil
}
