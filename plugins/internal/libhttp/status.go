package libhttp

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/sdk/model"
)

// CodeOf maps an HTTP status to a protocol status. It is Nutch's table
// (lib-http, HttpBase) but for these, each because the old rule hurts:
//
//   - 203 is success: a proxy changed the page, it is still the page.
//   - 403 is access_denied, not exception: it is an answer about this URL. As
//     an exception it was retried and five of them blocked the host's queue.
//   - 4xx that say the request can never work are gone, not exception. What
//     may work later stays an exception: 407, 408, 421, 425, 429.
//   - 304 without a condition sent is an exception: there is no old copy.
func CodeOf(status int, conditional bool) model.ProtocolCode {
	switch status {
	case http.StatusOK, http.StatusNonAuthoritativeInfo:
		return model.ProtocolSuccess
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
		return model.ProtocolTempMoved
	case http.StatusNotModified:
		if conditional {
			return model.ProtocolNotModified
		}
		return model.ProtocolException
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.ProtocolAccessDenied
	case http.StatusNotFound:
		return model.ProtocolNotFound
	case http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusMisdirectedRequest,
		http.StatusTooEarly, http.StatusTooManyRequests:
		return model.ProtocolException
	}
	switch status / 100 {
	case 3:
		return model.ProtocolMoved
	case 4:
		return model.ProtocolGone
	}
	return model.ProtocolException
}

// maxRetryAfter bounds what a server can ask for; longer is as good as never.
const maxRetryAfter = 30 * 24 * time.Hour

// RetryAfter reads a Retry-After value, seconds or a date (RFC 9110 section
// 10.2.3). A date is relative to the answer's own Date when there is one, so
// that a wrong clock on either side does not matter, and else to now.
func RetryAfter(value, date string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		if n > 0 { // false for NaN
			return time.Duration(min(n, maxRetryAfter.Seconds()) * float64(time.Second))
		}
		return 0
	}
	t, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if d, err := http.ParseTime(date); err == nil {
		now = d
	}
	return min(max(t.Sub(now), 0), maxRetryAfter)
}
