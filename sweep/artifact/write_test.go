package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteFileIsWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	for _, text := range []string{"one", "another, longer", ""} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != text {
			t.Fatalf("%q %v", data, err)
		}
	}
	link, folder := filepath.Join(dir, "link"), filepath.Join(dir, "folder")
	if err := errors.Join(os.Symlink(path, link), os.Mkdir(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{link, folder, filepath.Join(dir, "none", "a.json"), filepath.Join(path, "a.json")} {
		if err := WriteFile(bad, []byte("x")); err == nil {
			t.Errorf("%s was written", bad)
		}
		if err := CheckTarget(bad); err == nil {
			t.Errorf("%s is taken as a target", bad)
		}
	}
	if err := CheckTarget(filepath.Join(dir, "new.json")); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v %v", entries, err)
	}
	if data, err := os.ReadFile(path); err != nil || len(data) != 0 {
		t.Error("the file behind the link was written")
	}
}
