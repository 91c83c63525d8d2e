package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckTarget reports why a file cannot be written there: its folder is
// missing, or something other than a regular file has its name.
func CheckTarget(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent, err := os.Stat(filepath.Dir(path))
		if err != nil {
			return err
		}
		if !parent.IsDir() {
			return fmt.Errorf("%s is not a folder", filepath.Dir(path))
		}
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is there and is not a regular file", path)
	}
	return nil
}

// WriteFile puts data at the path whole or not at all: a temporary file in the
// same folder, synced, renamed, and the folder synced.
func WriteFile(path string, data []byte) (err error) {
	if err := CheckTarget(path); err != nil {
		return err
	}
	folder, name := filepath.Split(path)
	if folder == "" {
		folder = "."
	}
	f, err := os.CreateTemp(folder, "."+name+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes the rename itself durable. The file is whole already, so
// there is nothing to take back when it fails.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
