package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
)

var (
	//go:embed page.html
	markup string
	//go:embed style.css
	style string
)

// HTML is the page.
func HTML(s *Site) []byte {
	var b bytes.Buffer
	err := template.Must(template.New("").Parse(markup)).ExecuteTemplate(&b, "page", struct {
		*view
		Style  template.HTML
		Policy string
	}{viewOf(s), template.HTML("<style>" + style + "</style>"), policy()})
	if err != nil {
		panic("internal error: the page cannot be written: " + err.Error()) // the templates and the view are ours
	}
	return b.Bytes()
}

// Policy is the content security policy of the page, for its header: nothing is loaded or run, the style of the page is
// the only one, and no other page may have it in a frame.
func Policy() string { return policy() + "; frame-ancestors 'none'" }

// policy is the part of it that holds in the page itself too, for one that was saved to a file.
func policy() string {
	digest := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'; base-uri 'none'; form-action 'none'"
}
