package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFilesOfAToolAreFoundHoweverTheyAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		args object
		want any // under paths
	}{
		"as it stands":         {object{"file_path": "/w/x", "content": "/w/y"}, nil},
		"relative":             {object{"filePath": "x"}, nil},
		"a list":               {object{"paths": []any{"x", "/w/y"}}, nil},
		"two names of one":     {object{"file_path": "ok", "filePath": "/w/x"}, []any{"/w/x", "/p/ok"}},
		"a name of its own":    {object{"dir_path": "../x"}, []any{"/x"}},
		"in a list":            {object{"filePath": "x", "edits": []any{object{"filePath": "/w/y", "oldString": "/w/z"}}}, []any{"/w/y"}},
		"home":                 {object{"path": "~/x"}, []any{"/home/a/x"}},
		"another's home":       {object{"path": "~b/x"}, nil},
		"space":                {object{"path": "\u00a0/w/x\ufeff"}, []any{"/w/x"}},
		"other spaces":         {object{"path": "/w/a\u202fb"}, []any{"/w/a b"}},
		"at":                   {object{"path": "@/w/x"}, []any{"/w/x"}},
		"at home":              {object{"path": "@~/x"}, []any{"/home/a/x"}},
		"address":              {object{"path": "file:///w/%78"}, []any{"/w/x"}},
		"address with a host":  {object{"uri": "FILE://localhost/w/x?a#b"}, []any{"/w/x"}},
		"other addresses":      {object{"url": "https://example.com/x"}, nil},
		"an address in a path": {object{"path": "a://../../../w/x"}, []any{"/w/x"}},
		"beside paths":         {object{"path": "~/x", "paths": []any{"y"}}, []any{"/home/a/x", "y"}},
		"other words":          {object{"profile": "x", "resource": "y", "file_text": "z"}, nil},
	} {
		got := spelled(c.args, "/p", "/home/a")["paths"]
		if _, was := c.args["paths"]; was && c.want == nil {
			continue // as it came
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
