package sweep

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// lockFolder takes the results folder for this process, or says that another
// has it.
func lockFolder(path string) (*os.File, error) {
	f, err := lockFile(path)
	if err != nil {
		return nil, fmt.Errorf("output folder: %w", err)
	}
	return f, nil
}

// inPlace holds that the folder is still the one that was locked: written into
// another of its name, results would be in two places.
func (s *Store) inPlace() error {
	path := filepath.Join(s.dir, lockName)
	there, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("output folder %s was moved or taken away while the run was using it: %w; go on with run --out where it is now", s.dir, err)
	}
	ours, err := s.lock.Stat()
	if err != nil {
		return fmt.Errorf("output folder: %w", err)
	}
	if !os.SameFile(there, ours) {
		return fmt.Errorf("output folder %s is another one than the run was using; go on with run --out where that is now", s.dir)
	}
	return nil
}

// lockEndpoints takes every address of the plan for this run, by a file in a
// folder that the runs of a machine or a shared disk agree on: two sweeps on
// one engine measure each other.
func lockEndpoints(folder string, plan *Plan, results string) (unlock func() error, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("lock folder: %w", err)
	}
	var held []*os.File
	release := func() error {
		var errs []error
		for _, f := range held {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	for _, address := range plan.addresses() {
		path := filepath.Join(folder, address+".lock")
		f, err := lockFile(path)
		if errors.Is(err, errLocked) {
			holder, _ := os.ReadFile(path) // what it says is for people
			return nil, errors.Join(fmt.Errorf("the endpoint %s is in use by another sweep%s", address, heldBy(holder)), release())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock folder: %w", err), release())
		}
		held = append(held, f)
		if abs, err := filepath.Abs(results); err == nil {
			results = abs
		}
		err = f.Truncate(0)
		if err == nil {
			_, err = fmt.Fprintf(f, "process %d, results in %s\n", os.Getpid(), results)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock folder: %w", err), release())
		}
	}
	return release, nil
}

func heldBy(holder []byte) string {
	if text := strings.TrimSpace(string(holder)); text != "" {
		return ": " + text
	}
	return ""
}

// addresses are the hosts with their ports that the plan's cells are sent to,
// sorted, as file names.
func (p *Plan) addresses() []string {
	var out []string
	add := func(base string) {
		u, err := url.Parse(base)
		if err != nil || u.Host == "" {
			return // the embedded engine
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		name := strings.NewReplacer(":", "_", "%", "_").Replace(u.Hostname()) + "_" + port
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for i := range p.Sweeps {
		for j := range p.Sweeps[i].Cells {
			t := p.Sweeps[i].Cells[j].Point.Tier
			add(t.BaseURL)
			for _, replica := range t.Replicas {
				add(replica)
			}
		}
	}
	slices.Sort(out)
	return out
}
