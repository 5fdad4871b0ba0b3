#![no_main]

reconfig_fuzz::mad!(reconfig::wire::sa::SaMad);
