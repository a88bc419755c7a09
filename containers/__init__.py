"""The nodes of the example application, as containers: what `-a containers.worker:container` names."""
