package testsite

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// FormLogin is a site with a login form, as shops and wikis have: a hidden
// token that is bound to a cookie, a session cookie behind it, and redirects
// to the form for those who have none.
type FormLogin struct {
	// Page is the path of the form and of where it is sent.
	Page           string
	User, Password string

	mu       sync.Mutex
	made     int
	sessions map[string]bool
	logins   int
	forms    int
}

// Form serves the login at f.Page. It returns s.
func (s *Site) Form(f *FormLogin) *Site {
	f.sessions = map[string]bool{}
	return s.Handle(f.Page, f.serve)
}

// Protected answers route with html to those who are logged in at f, and
// redirects the others to the form.
func (s *Site) Protected(route string, f *FormLogin, html string) *Site {
	return s.Handle(route, func(w http.ResponseWriter, r *http.Request) {
		if !f.in(r) {
			http.Redirect(w, r, f.Page+"?next="+url.QueryEscape(r.URL.Path), http.StatusFound)
			return
		}
		page(w, html)
	})
}

// Expire ends all sessions.
func (f *FormLogin) Expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.sessions)
}

// Counts returns how often the form was shown and how many logins were good.
func (f *FormLogin) Counts() (forms, logins int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.forms, f.logins
}

func (f *FormLogin) in(r *http.Request) bool {
	c, err := r.Cookie("session")
	f.mu.Lock()
	defer f.mu.Unlock()
	return err == nil && f.sessions[c.Value]
}

func (f *FormLogin) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && f.take(w, r) {
		next := r.PostFormValue("next")
		if !strings.HasPrefix(next, "/") {
			next = "/"
		}
		http.Redirect(w, r, next, http.StatusSeeOther)
		return
	}
	f.mu.Lock()
	f.made++
	f.forms++
	token := fmt.Sprintf("token-%d", f.made)
	f.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: "csrf", Value: token, Path: "/", HttpOnly: true})
	page(w, fmt.Sprintf(`<!DOCTYPE html><title>Log in</title>
<form action="/search"><input name="q"></form>
<form id="login" method="post" action="%s">
<input type="hidden" name="token" value="%s"><input type="hidden" name="next" value="%s">
<input name="user"> <input type="password" name="secret">
<input type="checkbox" name="stay" value="1" checked> <input type="checkbox" name="trap" value="1">
<select name="lang"><option value="de">Deutsch<option value="en" selected>English</select>
<button name="do" value="login">Go</button> <button name="do" value="register">Register</button>
</form>`, f.Page, token, html.EscapeString(r.URL.Query().Get("next"))))
}

// take checks everything that a browser would have sent.
func (f *FormLogin) take(w http.ResponseWriter, r *http.Request) bool {
	c, err := r.Cookie("csrf")
	if err != nil || r.ParseForm() != nil || r.PostForm.Get("token") != c.Value ||
		r.PostForm.Get("user") != f.User || r.PostForm.Get("secret") != f.Password ||
		r.PostForm.Get("stay") != "1" || r.PostForm.Has("trap") || r.PostForm.Get("lang") != "en" || len(r.PostForm["do"]) != 1 || r.PostForm.Get("do") != "login" {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	f.logins++
	session := fmt.Sprintf("session-%d", f.made)
	f.sessions[session] = true
	http.SetCookie(w, &http.Cookie{Name: "session", Value: session, Path: "/", HttpOnly: true})
	return true
}
