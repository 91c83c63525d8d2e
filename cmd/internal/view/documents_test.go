package view

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// Every field of a document for programs is documented.
func TestDocumentsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(v reflect.Type) {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || seen[v] {
			return
		}
		seen[v] = true
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(string(data), "`"+name+"`") {
				t.Errorf("docs/plan.md lacks `%s` of %s", name, v.Name())
			}
			walk(v.Field(i).Type)
		}
	}
	walk(reflect.TypeFor[planDocument]())
	walk(reflect.TypeFor[validDocument]())
}
