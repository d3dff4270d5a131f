// Package chaos is a plugin that misbehaves on demand, so that a host can be
// tested. It owns the misbehaviour; what should come of it is the tests' to say.
//
// What it does is written in the URL of an item: "chaos-" and one of the words
// of Behaviours, as in http://host.test/chaos-crash/17.html. Without such a mark
// it is a well-behaved plugin: the parser finds title, text and links of plain
// HTML, filters accept, normalizers and scores change nothing. Settings choose
// the extension points that misbehave, and what goes wrong when it is
// configured or shut down. What goes wrong before that (no handshake, a late
// one, garbage instead of it) is chosen by the arguments of cmd/chaos.
package chaos

import "strings"

// Behaviour is one way to misbehave.
type Behaviour string

// The behaviours. Those marked "process" take the whole process down or hold it
// up; the others spoil one answer.
const (
	None      Behaviour = ""
	Crash     Behaviour = "crash"      // process: exits with status 7
	CrashOnce Behaviour = "crash-once" // process: Crash, but each URL only once for each data folder
	Kill      Behaviour = "kill"       // process: kills itself with SIGKILL
	Fatal     Behaviour = "fatal"      // process: a panic that nothing recovers
	Stop      Behaviour = "stop"       // process: stops itself with SIGSTOP
	Hog       Behaviour = "hog"        // process: takes memory (setting hog), then hangs
	Spin      Behaviour = "spin"       // burns every processor for ever, whatever the context says
	Hang      Behaviour = "hang"       // never answers, whatever the context says
	Slow      Behaviour = "slow"       // answers late (setting slow)
	Leak      Behaviour = "leak"       // keeps memory (setting leak) and answers
	Fork      Behaviour = "fork"       // starts a child and a grandchild and answers
	Daemon    Behaviour = "daemon"     // starts a child in a session of its own and answers
	Panic     Behaviour = "panic"      // a panic in the call
	Short     Behaviour = "short"      // one answer too few
	Long      Behaviour = "long"       // one answer too many
	Huge      Behaviour = "huge"       // an answer of many bytes (setting huge)
	Nonsense  Behaviour = "nonsense"   // an answer of the right form without sense
	Noise     Behaviour = "noise"      // garbage on stderr and stdout, one line of it a megabyte
	Hostile   Behaviour = "hostile"    // log lines on stderr that break readers
	Refuse    Behaviour = "refuse"     // an error for the whole call
	Transient Behaviour = "transient"  // an item error of that kind, and so on
	Permanent Behaviour = "permanent"
	Denied    Behaviour = "denied"
	Invalid   Behaviour = "invalid"
	Shutdown  Behaviour = "shutdown"
)

// Behaviours lists all behaviours but None; no word comes before a longer one
// that it begins.
func Behaviours() []Behaviour {
	return []Behaviour{
		CrashOnce, Crash, Kill, Fatal, Stop, Hog, Spin, Hang, Slow, Leak, Fork, Daemon, Panic, Short, Long, Huge, Nonsense, Noise, Hostile,
		Refuse, Transient, Permanent, Denied, Invalid, Shutdown,
	}
}

// mark starts a behaviour in a URL.
const mark = "chaos-"

// Of returns the behaviour that url asks for.
func Of(url string) Behaviour {
	_, rest, ok := strings.Cut(url, mark)
	if !ok {
		return None
	}
	for _, b := range Behaviours() {
		if strings.HasPrefix(rest, string(b)) {
			return b
		}
	}
	return None
}
