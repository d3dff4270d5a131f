id      = "protocol-http"
name    = "HTTP and HTTPS"
version = "1.0.0"
api     = 1

provide "protocol" {
  extension = "Http"
  schemes   = ["http", "https"]
}

sections = ["http"]

setting "idle_connections" {
  type    = "int"
  default = 1024
  meaning = "Connections kept open for a next request, over all hosts."
}

setting "idle_connections_per_host" {
  type    = "int"
  default = 4
  meaning = "Connections kept open for a next request to one host and port."
}

setting "idle_timeout" {
  type    = "duration"
  default = "90s"
  meaning = "How long a connection is kept open without a request."
}

setting "compression_ratio" {
  type    = "int"
  default = 250
  meaning = "A body whose decoded bytes are more than so many times its encoded bytes, after the first MiB, is cut there (reason length). 0 means no limit."
}

setting "ca_file" {
  type    = "file"
  default = ""
  meaning = "Certificates (PEM) of authorities trusted besides the system's, such as an intranet's own."
}

block "site" {
  meaning = "What holds for some hosts: credentials, a form to log in with, headers, a client certificate."

  setting "hosts" {
    type    = "list"
    meaning = "Hosts that the block is for: names, addresses, *.domain for all below a domain; with :port for that port only."
  }

  setting "username" {
    type    = "string"
    default = ""
    meaning = "User name for Basic, Digest and NTLM, and in place of {username} in login_fields."
  }

  setting "password" {
    type    = "string"
    default = ""
    secret  = true
    meaning = "The password; write env(\"NAME\") or file(\"path\"). In place of {password} in login_fields."
  }

  setting "domain" {
    type    = "string"
    default = ""
    meaning = "Windows domain of the user, for NTLM."
  }

  setting "realm" {
    type    = "string"
    default = ""
    meaning = "The realm that the server must name to get the password. Empty: any."
  }

  setting "schemes" {
    type    = "list"
    default = ["ntlm", "digest", "basic"]
    one_of  = ["ntlm", "digest", "basic"]
    meaning = "Ways to show the password that are used when the server offers them, the first the most wanted."
  }

  setting "headers" {
    type    = "map"
    default = {}
    secret  = true
    meaning = "Headers to send with every request to these hosts; they replace those of the same name."
  }

  setting "certificate" {
    type    = "file"
    default = ""
    meaning = "The crawler's own certificate, with those of its authorities behind it (PEM), for servers that ask for one."
  }

  setting "certificate_key" {
    type    = "file"
    default = ""
    meaning = "The key of certificate (PEM). Empty: it is in the same file."
  }

  setting "login_url" {
    type    = "string"
    default = ""
    meaning = "The page with the login form. Empty: no form login."
  }

  setting "login_form" {
    type    = "string"
    default = ""
    meaning = "Id or name of the form. Empty: the first one that has a password field."
  }

  setting "login_fields" {
    type    = "map"
    default = {}
    secret  = true
    meaning = "Fields of the form to fill in: name = value. Hidden and other fields keep what the page has. Empty: the password field and the text field before it."
  }

  setting "login_remove_fields" {
    type    = "list"
    default = []
    meaning = "Fields of the form that are not sent."
  }

  setting "login_success" {
    type    = "string"
    default = ""
    meaning = "Regular expression that the page behind the login, or its URL, must match. Empty: that it is no error and shows no login form."
  }

  setting "logged_out_status" {
    type    = "list"
    default = ["401"]
    meaning = "HTTP codes that mean that the login is over."
  }

  setting "logged_out_url" {
    type    = "string"
    default = ""
    meaning = "Regular expression for redirect targets that mean that the login is over. Empty: the login page."
  }

  setting "logged_out_text" {
    type    = "string"
    default = ""
    meaning = "Regular expression for pages that mean that the login is over."
  }

  setting "login_again_after" {
    type    = "duration"
    default = "1m"
    min     = "0s"
    meaning = "The least time between two logins, failed ones included."
  }
}
