package model

import "fmt"

// Status is a CrawlDatum's status. Codes and names are Nutch's (CrawlDatum):
// 1 to 31 live in the CrawlDB, 33 to 63 come from a fetch.
type Status uint8

// The statuses a record can have in the CrawlDB.
const (
	StatusDBUnfetched   Status = 1
	StatusDBFetched     Status = 2
	StatusDBGone        Status = 3
	StatusDBRedirTemp   Status = 4
	StatusDBRedirPerm   Status = 5
	StatusDBNotModified Status = 6
	StatusDBDuplicate   Status = 7
	StatusDBOrphan      Status = 8
	StatusDBParseFailed Status = 9
)

// The statuses a fetch or parse can end with, and the two that mark where a
// new record came from.
const (
	StatusFetchSuccess     Status = 33
	StatusFetchRetry       Status = 34
	StatusFetchRedirTemp   Status = 35
	StatusFetchRedirPerm   Status = 36
	StatusFetchGone        Status = 37
	StatusFetchNotModified Status = 38
	StatusInjected         Status = 66
	StatusLinked           Status = 67
	StatusParseFailed      Status = 69
)

// String returns Nutch's name of s, such as "db_fetched".
func (s Status) String() string {
	switch s {
	case StatusDBUnfetched:
		return "db_unfetched"
	case StatusDBFetched:
		return "db_fetched"
	case StatusDBGone:
		return "db_gone"
	case StatusDBRedirTemp:
		return "db_redir_temp"
	case StatusDBRedirPerm:
		return "db_redir_perm"
	case StatusDBNotModified:
		return "db_notmodified"
	case StatusDBDuplicate:
		return "db_duplicate"
	case StatusDBOrphan:
		return "db_orphan"
	case StatusDBParseFailed:
		return "db_parse_failed"
	case StatusFetchSuccess:
		return "fetch_success"
	case StatusFetchRetry:
		return "fetch_retry"
	case StatusFetchRedirTemp:
		return "fetch_redir_temp"
	case StatusFetchRedirPerm:
		return "fetch_redir_perm"
	case StatusFetchGone:
		return "fetch_gone"
	case StatusFetchNotModified:
		return "fetch_notmodified"
	case StatusInjected:
		return "injected"
	case StatusLinked:
		return "linked"
	case StatusParseFailed:
		return "parse_failed"
	}
	return fmt.Sprintf("unknown(%d)", uint8(s))
}

// DBStatuses lists the CrawlDB statuses in code order.
func DBStatuses() []Status {
	return []Status{
		StatusDBUnfetched, StatusDBFetched, StatusDBGone, StatusDBRedirTemp, StatusDBRedirPerm,
		StatusDBNotModified, StatusDBDuplicate, StatusDBOrphan, StatusDBParseFailed,
	}
}

// ParseDBStatus returns the CrawlDB status called name, and whether there is one.
func ParseDBStatus(name string) (Status, bool) {
	for _, s := range DBStatuses() {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// ProtocolCode says how a protocol plugin's attempt ended. Codes and names are
// Nutch's (ProtocolStatus).
type ProtocolCode uint8

// The outcomes of one fetch attempt.
const (
	ProtocolUnset         ProtocolCode = 0
	ProtocolSuccess       ProtocolCode = 1
	ProtocolFailed        ProtocolCode = 2
	ProtocolNotFoundProto ProtocolCode = 10 // no plugin for the URL's scheme
	ProtocolGone          ProtocolCode = 11
	ProtocolMoved         ProtocolCode = 12
	ProtocolTempMoved     ProtocolCode = 13
	ProtocolNotFound      ProtocolCode = 14
	ProtocolRetry         ProtocolCode = 15
	ProtocolException     ProtocolCode = 16 // transient trouble: time-out, 5xx, 429, 403
	ProtocolAccessDenied  ProtocolCode = 17
	ProtocolRobotsDenied  ProtocolCode = 18
	ProtocolRedirExceeded ProtocolCode = 19
	ProtocolNotFetching   ProtocolCode = 20
	ProtocolNotModified   ProtocolCode = 21
)

// String returns Nutch's name of c, such as "temp_moved".
func (c ProtocolCode) String() string {
	switch c {
	case ProtocolUnset:
		return "unset"
	case ProtocolSuccess:
		return "success"
	case ProtocolFailed:
		return "failed"
	case ProtocolNotFoundProto:
		return "proto_not_found"
	case ProtocolGone:
		return "gone"
	case ProtocolMoved:
		return "moved"
	case ProtocolTempMoved:
		return "temp_moved"
	case ProtocolNotFound:
		return "notfound"
	case ProtocolRetry:
		return "retry"
	case ProtocolException:
		return "exception"
	case ProtocolAccessDenied:
		return "access_denied"
	case ProtocolRobotsDenied:
		return "robots_denied"
	case ProtocolRedirExceeded:
		return "redir_exceeded"
	case ProtocolNotFetching:
		return "notfetching"
	case ProtocolNotModified:
		return "notmodified"
	}
	return fmt.Sprintf("unknown(%d)", uint8(c))
}

// ProtocolStatus is the outcome of one fetch attempt.
type ProtocolStatus struct {
	Code    ProtocolCode `json:"code"`
	Message string       `json:"message,omitempty"` // redirect target, error text or HTTP reason
	HTTP    int          `json:"http,omitempty"`    // raw protocol code; 0 when there was none
}

// String returns Nutch's text form, such as "moved(12): http://a/".
func (p ProtocolStatus) String() string {
	s := fmt.Sprintf("%s(%d)", p.Code, uint8(p.Code))
	if p.Message != "" {
		s += ": " + p.Message
	}
	return s
}

// ParseMajor is the coarse outcome of a parse (Nutch's ParseStatus major code).
type ParseMajor uint8

// The coarse outcomes of a parse.
const (
	ParseNotParsed ParseMajor = 0
	ParseSuccess   ParseMajor = 1
	ParseFailed    ParseMajor = 2
)

// String returns Nutch's name of m.
func (m ParseMajor) String() string {
	switch m {
	case ParseNotParsed:
		return "notparsed"
	case ParseSuccess:
		return "success"
	case ParseFailed:
		return "failed"
	}
	return fmt.Sprintf("unknown(%d)", uint8(m))
}

// ParseMinor is the detail of a parse's outcome (Nutch's ParseStatus minor code).
type ParseMinor uint16

// The detailed outcomes of a parse.
const (
	ParseOK                   ParseMinor = 0
	ParseSuccessRedirect      ParseMinor = 100 // meta refresh; Args: URL, seconds
	ParseFailedException      ParseMinor = 200
	ParseFailedTruncated      ParseMinor = 202
	ParseFailedInvalidFormat  ParseMinor = 203
	ParseFailedMissingParts   ParseMinor = 204
	ParseFailedMissingContent ParseMinor = 205
)

// ParseStatus is the outcome of parsing one document.
type ParseStatus struct {
	Major   ParseMajor `json:"major"`
	Minor   ParseMinor `json:"minor"`
	Message string     `json:"message,omitempty"`
	Args    []string   `json:"args,omitempty"`
}

// OK reports whether the parse succeeded.
func (p ParseStatus) OK() bool { return p.Major == ParseSuccess }

// String returns Nutch's text form, such as "failed(2,200): bad xml".
func (p ParseStatus) String() string {
	s := fmt.Sprintf("%s(%d,%d)", p.Major, uint8(p.Major), uint16(p.Minor))
	if p.Message != "" {
		s += ": " + p.Message
	}
	return s
}
