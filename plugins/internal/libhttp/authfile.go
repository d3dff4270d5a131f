package libhttp

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gonutch/crawler/sdk/setting"
)

// maxAuthFile bounds http.auth_file.
const maxAuthFile = 1 << 20

// authConfiguration is Nutch's httpclient-auth.xml.
type authConfiguration struct {
	XMLName     xml.Name         `xml:"auth-configuration"`
	Credentials []xmlCredentials `xml:"credentials"`
}

type xmlCredentials struct {
	Username   string     `xml:"username,attr"`
	Password   string     `xml:"password,attr"`
	AuthMethod string     `xml:"authMethod,attr"`
	LoginURL   string     `xml:"loginUrl,attr"`
	LoginForm  string     `xml:"loginFormId,attr"`
	Default    *authScope `xml:"default"`
	Scopes     []struct {
		Host string `xml:"host,attr"`
		Port string `xml:"port,attr"`
		authScope
	} `xml:"authscope"`
	PostData []xmlField `xml:"loginPostData>field"`
	Headers  []xmlField `xml:"additionalPostHeaders>field"`
	Removed  []xmlField `xml:"removedFormFields>field"`
}

type authScope struct {
	Realm  string `xml:"realm,attr"`
	Scheme string `xml:"scheme,attr"`
}

type xmlField struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// authBlock is a site made of a credentials element.
type authBlock struct {
	name string
	SiteConfig
}

// readAuthFile reads credentials in the format of Nutch's protocol-httpclient.
// A default element is for every host that no other is for, an authscope for
// its host. loginRedirect and loginCookie are not needed: redirects behind a
// login are followed, cookies kept as browsers do.
func readAuthFile(file string) ([]authBlock, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxAuthFile {
		return nil, fmt.Errorf("%s has more than %d bytes", file, maxAuthFile)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var doc authConfiguration
	if err := xml.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w; want Nutch's <auth-configuration>", file, err)
	}
	var out []authBlock
	for i := range doc.Credentials {
		blocks, err := doc.Credentials[i].sites(fmt.Sprintf("credentials %d", i+1))
		if err != nil {
			return nil, fmt.Errorf("%s: credentials %d: %w", file, i+1, err)
		}
		out = append(out, blocks...)
	}
	return out, nil
}

func (c *xmlCredentials) sites(name string) ([]authBlock, error) {
	if c.AuthMethod != "" {
		s, err := c.form()
		return []authBlock{{name, s}}, err
	}
	var out []authBlock
	add := func(host string, scope *authScope) error {
		s := SiteConfig{Hosts: []string{host}, Username: c.Username, Password: c.Password, Realm: scope.Realm}
		if scope.Scheme != "" {
			s.Schemes = []string{strings.ToLower(scope.Scheme)}
		}
		if c.Username == "" {
			return fmt.Errorf("username is missing")
		}
		if user, ok := strings.CutPrefix(c.Username, scope.Realm+`\`); ok && scope.Realm != "" { // NTLM: the realm is the domain
			s.Username, s.Domain = user, scope.Realm
		}
		out = append(out, authBlock{name, s})
		return nil
	}
	for i := range c.Scopes {
		sc := &c.Scopes[i]
		host := sc.Host
		switch {
		case host == "" && sc.Port == "":
			host = anyHost
		case host == "":
			return nil, fmt.Errorf("authscope: a port without a host; write host, too")
		case sc.Port != "" && sc.Port != "-1":
			host += ":" + sc.Port
		}
		if err := add(host, &sc.authScope); err != nil {
			return nil, err
		}
	}
	if c.Default != nil {
		if err := add(anyHost, c.Default); err != nil {
			return nil, err
		}
	}
	if out == nil {
		return nil, fmt.Errorf("neither authscope nor default says where they are for")
	}
	return out, nil
}

func (c *xmlCredentials) form() (SiteConfig, error) {
	s := SiteConfig{LoginURL: c.LoginURL, LoginForm: c.LoginForm, LoginFields: map[string]string{}, LoginAgainAfter: setting.Duration(time.Minute)}
	switch {
	case !strings.EqualFold(c.AuthMethod, "formAuth"):
		return s, fmt.Errorf("authMethod %q: want formAuth", c.AuthMethod)
	case c.LoginURL == "" || c.LoginForm == "":
		return s, fmt.Errorf("authMethod formAuth needs loginUrl and loginFormId")
	}
	u, err := ParseURL(c.LoginURL)
	if err != nil {
		return s, fmt.Errorf("loginUrl: %w", err)
	}
	s.Hosts = []string{u.Host}
	for _, f := range c.PostData {
		s.LoginFields[f.Name] = f.Value
	}
	s.loginHeaders = map[string]string{}
	for _, f := range c.Headers {
		s.loginHeaders[f.Name] = f.Value
	}
	for _, f := range c.Removed {
		s.LoginRemoveFields = append(s.LoginRemoveFields, f.Name)
	}
	return s, nil
}
