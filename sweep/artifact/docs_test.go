package artifact

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"anvilsweep/client"
)

// Every field that we write is documented.
func TestDocumentationIsWhole(t *testing.T) {
	data, err := os.ReadFile("../../docs/artifact.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(v reflect.Type) {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || seen[v] || v.PkgPath() != reflect.TypeFor[Sweep]().PkgPath() {
			return
		}
		seen[v] = true
		for i := range v.NumField() {
			if v.Field(i).Anonymous {
				walk(v.Field(i).Type)
			}
			if name := v.Field(i).Tag.Get("json"); name != "" && name != "-" {
				if !strings.Contains(text, "`"+name+"`") {
					t.Errorf("docs/artifact.md lacks `%s` of %s", name, v.Name())
				}
				walk(v.Field(i).Type)
			}
		}
	}
	walk(reflect.TypeFor[Sweep]())
	walk(reflect.TypeFor[Manifest]())
	for _, name := range structNames(reflect.TypeFor[Artifact]()) {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/artifact.md lacks `%s`", name)
		}
	}
	for _, name := range structNames(reflect.TypeFor[Row]()) {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/artifact.md lacks `%s`", name)
		}
	}
	for _, name := range plainKeys {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/artifact.md lacks `%s`", name)
		}
	}
	for _, kind := range []client.Kind{client.KindDial, client.KindDNS, client.KindTLS, client.KindProxy, client.KindTimeoutConnect, client.KindTimeoutFirstByte, client.KindTimeoutOutput, client.KindTimeoutIdle,
		client.KindTimeoutTotal, client.KindHTTPStatus, client.KindNotEventStream, client.KindNotStreaming, client.KindServerError, client.KindProtocol,
		client.KindEventTooLarge, client.KindTruncated, client.KindEmptyStream, client.KindAborted, client.KindConnStale, client.KindCancelled, client.KindNoOutput} {
		if !strings.Contains(text, "`"+string(kind)+"`") {
			t.Errorf("docs/artifact.md lacks the kind `%s`", kind)
		}
	}
}

func structNames(v reflect.Type) []string {
	var out []string
	for i := range v.NumField() {
		if name := v.Field(i).Tag.Get("json"); name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}
