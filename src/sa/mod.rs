//! Subnet administration: what clients may ask of the subnet, answered from what is known, as values and without I/O.
