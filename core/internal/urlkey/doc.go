// Package urlkey owns the canonical key of a URL: the form under which every
// store knows a page, and what can be read off it (host, registered domain,
// origin, queue).
//
// A key is the host with its labels reversed, the scheme, the port if the URL
// names one, user information if the URL has any, and the rest of the URL
// untouched:
//
//	https://www.example.org/a?b        org.example.www:https/a?b
//	https://www.example.org:8080/      org.example.www:https:8080/
//	ftp://me:pw@example.org/x          org.example:ftp@me:pw/x
//	http://127.0.0.1/  http://[::1]/   127.0.0.1:http/  [::1]:http/
//	file:///etc/motd                   :file/etc/motd
//	mailto:a@b.c, anything else        !mailto:a@b.c
//
// Addresses are not reversed, so that networks stay together. What does not have the shape
// scheme://authority is kept whole behind "!" (opaque), with NUL and 0x01
// escaped. Hence:
//
//   - ToURL(FromURL(u)) == u for every string u, valid URL or not, so a key
//     is an identity: two URLs have the same key only if they are equal.
//   - A key holds no NUL byte, so it can be a part of a composite store key
//     that ends its parts with NUL, and order stays bytewise.
//   - All pages of a host are one key range, all of a domain are two.
//
// The package normalizes nothing: http://a:80/ and http://a/ are two keys. It
// must not know the store, records or configuration. All functions are pure
// and safe for concurrent use.
package urlkey
