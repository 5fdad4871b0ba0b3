//! Devices that fail at one attribute, keys that do not fit, SMPs that are lost, and what others
//! write: the rest of the subnet is served, and what is wrong is said.

mod at_a_switch;
mod back_to_back;
mod bounced;
mod fenced;
mod groups;
mod hosts_first;
mod hung;
mod instead;
mod keys;
mod lanes_last;
mod lost_cables;
mod masters;
mod odd_ports;
mod one_device;
mod registers;
mod returns;
mod scene;
mod set_aside;
mod strangers;
mod switched_off;
mod unfit;
