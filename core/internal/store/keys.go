package store

// Each key starts with one byte that names its space. URL keys and segment ids
// hold no NUL, so NUL ends every part that another part follows.
const (
	PrefixMeta       byte = 'a' // a<name>: facts of the whole store
	PrefixCounter    byte = 'b' // b<name>: merged counts
	PrefixRecord     byte = 'C' // C<url key>: CrawlDB record
	PrefixDedupDirty byte = 'D' // D<len><signature><url key>
	PrefixEffect     byte = 'E' // E<url key>: merged effects, not yet folded
	PrefixWARC       byte = 'F' // F<segment> NUL <file>: committed length
	PrefixHost       byte = 'H' // H<reversed host>: HostDB record
	PrefixDocState   byte = 'I' // I<url key>: what the index writers hold
	PrefixRefused    byte = 'J' // J<writer> NUL <url key>: refused by the index writer
	PrefixLink       byte = 'L' // L<target> NUL <source>
	PrefixSegment    byte = 'M' // M<segment>: segment meta
	PrefixHold       byte = 'O' // O<queue>: hold
	PrefixPart       byte = 'P' // P<segment> NUL <part> <url key>
	PrefixReady      byte = 'R' // R<bucket><queue hash><url key>
	PrefixSignature  byte = 'S' // S<len><signature><url key>
	PrefixWait       byte = 'W' // W<due minute><url key>
	PrefixIndexDirty byte = 'X' // X<url key>
	PrefixPending    byte = 'Y' // Y<writer> NUL <url key>: to be sent to the index writer
	PrefixLease      byte = 'Z' // Z<segment> NUL <url key>
	PrefixHostCount  byte = 'h' // h<reversed host>: merged counts of a host
	PrefixSegCount   byte = 'n' // n<segment>: merged counts of a segment
	PrefixWinner     byte = 'w' // w<len><signature><group>
	PrefixLinkCount  byte = 'l' // l<target>: merged number of inlinks
	PrefixOrphan     byte = 'o' // o<due second><url key>: may have lost its last inlink
)

// Key returns prefix followed by the parts, unseparated.
func Key[S ~string | ~[]byte](prefix byte, part S) []byte {
	return append(append(make([]byte, 0, 1+len(part)), prefix), part...)
}

// Key2 returns prefix, a, NUL, b.
func Key2[A, B ~string | ~[]byte](prefix byte, a A, b B) []byte {
	k := make([]byte, 0, 2+len(a)+len(b))
	k = append(append(append(k, prefix), a...), 0)
	return append(k, b...)
}

// After returns the smallest key greater than every key that starts with
// prefix, or nil when there is none.
func After(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}
