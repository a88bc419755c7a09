"""Long attacks with an oracle outside the library: files that handlers append to. `./dev chaos` runs them."""
