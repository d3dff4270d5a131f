package store

import (
	"math/rand/v2"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// CrashFS is a file system in memory that can show what a power cut would have
// left: for tests of everything that must survive one.
type CrashFS struct{ *vfs.MemFS }

// NewCrashFS returns an empty one.
func NewCrashFS() CrashFS { return CrashFS{vfs.NewCrashableMem()} }

// Cut returns the file system as a power cut at this instant may have left it:
// everything synced, and of what was not, each piece with a probability of
// percent, chosen by seed. The original goes on unharmed.
func (c CrashFS) Cut(percent int, seed uint64) CrashFS {
	return CrashFS{c.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // reproducible on purpose
	})}
}
