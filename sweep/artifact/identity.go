package artifact

// Reported is what the server said of itself when it was asked who it is.
type Reported struct {
	Version *string `json:"version"`
	Model   *string `json:"model"`  // what it has loaded, where it says more than the list of models
	Source  *string `json:"source"` // path that was asked
	Error   *string `json:"error"`  // why nothing is known
}
